module gatehouse.dev/load

go 1.24
