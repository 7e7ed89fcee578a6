// What reading a raw log is compared with: reads it in pieces and looks for newlines.

import { closeSync, openSync, readSync } from 'node:fs'

const file = openSync(process.argv[2] as string, 'r')
const buffer = Buffer.allocUnsafe(1024 * 1024)
let rows = 0
for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
  const piece = buffer.subarray(0, size)
  for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) rows++
}
closeSync(file)
if (rows === 0) process.exitCode = 1
