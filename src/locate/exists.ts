// Whether something lies at a path, by whatever links.

import { statSync } from 'node:fs'

/** Whether there is anything that could be opened. */
export function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false // a name too long, a loop of links, a forbidden directory: nothing there that could be opened
  }
}

/** Whether there is a directory. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false // dangling or circular links are told apart by the caller
  }
}
