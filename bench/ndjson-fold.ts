// What preparing a raw log is compared with, as a program.

import { foldWithNdjson } from './ndjson.ts'

if ((await foldWithNdjson(process.argv[2] as string)) === '') process.exitCode = 1
