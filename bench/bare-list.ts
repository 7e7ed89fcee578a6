// What a list is compared with: the walk to the logs, and one read of 4 KiB of each, synchronous.

import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'

const root = process.argv[2] as string
const buffer = Buffer.allocUnsafe(4096)
for (const project of readdirSync(root)) {
  for (const session of readdirSync(join(root, project))) {
    const directory = join(root, project, session)
    for (const name of readdirSync(directory)) {
      const file = openSync(join(directory, name), 'r')
      readSync(file, buffer, 0, buffer.length, 0)
      closeSync(file)
    }
  }
}
