// What checking a raw log is compared with: JSON.parse of every row.

import { closeSync, openSync, readSync } from 'node:fs'

const file = openSync(process.argv[2] as string, 'r')
const buffer = Buffer.allocUnsafe(1024 * 1024)
let rest: Buffer[] = []
let rows = 0
for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
  const piece = buffer.subarray(0, size)
  let start = 0
  for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, start)) {
    const row =
      rest.length > 0
        ? Buffer.concat([...rest, piece.subarray(start, at)]).toString()
        : piece.toString('utf8', start, at)
    if (JSON.parse(row) !== null) rows++
    rest = []
    start = at + 1
  }
  if (start < size) rest.push(Buffer.from(piece.subarray(start)))
}
closeSync(file)
if (rows === 0) process.exitCode = 1
