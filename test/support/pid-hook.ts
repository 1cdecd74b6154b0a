/** Loaded with `--import`: prints the process id of a program and of its children. */
process.stderr.write(`${process.argv[1] ?? ''} runs as process ${process.pid}\n`)
