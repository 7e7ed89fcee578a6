// What bin/dsh-ref.js starts: the program (main.ts) in this process, and what may be set only in a process of one's own.
import { setFlagsFromString } from 'node:v8'
import { runProgram } from './main.ts'
import { PROCESS, setExitStatus } from './shell.ts'

// What commands allocate dies at once, so that the young generation of the heap may stay as small as it begins: memory that is
// touched for the first time costs more than collecting it, and a log of 1 GB takes half as much (docs/speed.md).
setFlagsFromString('--semi-space-growth-factor=1')

// What the program cannot turn into a status is a bug of main.ts itself, and ends the process as such.
runProgram(process.argv.slice(2), PROCESS).then(setExitStatus)
