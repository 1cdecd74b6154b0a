/** Loaded with `--import` by the program and by every process that it starts: says which process is which. */
process.stderr.write(`${process.argv[1] ?? ''} runs as process ${process.pid}\n`)
