// Lets main.go declare a function whose body is in another package (go:linkname).
