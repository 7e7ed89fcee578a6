// What a directory tree looks like, to the last nanosecond, so that a test can say that nothing in it was changed.

import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** All there is to see of a tree: listings, kinds, modes, sizes, times and contents. */
export function everythingIn(root: string): Record<string, unknown> {
  const seen: Record<string, unknown> = {}
  const look = (path: string) => {
    const state = lstatSync(path, { bigint: true })
    const { mode, size, mtimeNs, ctimeNs, ino, nlink, uid } = state
    const facts = { mode, mtimeNs, ctimeNs, ino, nlink, uid, size }
    if (state.isDirectory()) {
      const names = readdirSync(path)
      seen[path] = { ...facts, names }
      for (const name of names) look(join(path, name))
    } else if (state.isFile()) {
      seen[path] = { ...facts, hash: createHash('sha256').update(readFileSync(path)).digest('hex') }
    } else seen[path] = facts
  }
  look(root)
  return seen
}
