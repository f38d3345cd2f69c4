"""Where webhook/objects/pod_types.json comes from."""
