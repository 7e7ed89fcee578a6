// What reading a raw log is compared with, as a program.

import { countRows } from './newlines.ts'

if (countRows(process.argv[2] as string) === 0) process.exitCode = 1
