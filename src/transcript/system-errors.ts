// What the system answers when a spill directory is read or written, in words a person can act on.

import { readFailed } from '../errors.ts'

/** Swallows these errors of the system and no others. */
export function ignoring(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return undefined
  }
}

/** Whether an error is one of the system. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  // Node's own codes, ERR_…, are bugs of the caller.
  return /^E[A-Z0-9]+$/.test((error as NodeJS.ErrnoException).code ?? '')
}

/** The refusal that a failure of the system is; throws every other error. */
export function refusalOf(verb: string, path: string, cause: unknown) {
  if (!isSystemError(cause)) throw cause
  const { code } = cause
  const reason = code === 'ENOENT' ? 'not-found' : 'unreadable'
  return readFailed(
    reason,
    `Cannot ${verb} ${path} (${code})${ADVICE[code] ?? ''}`,
    { file: path, errno: code },
    { cause },
  )
}

/** What to do about the errors a person meets most. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: '; check the permissions of its directory',
  EEXIST: '; a file is where a directory is due',
  ENOENT: '; name another directory with --spill-dir',
  ENOSPC: '; the disk is full, see dsh-ref spill prune',
  ENOTDIR: '; a file or a link is where a directory is due',
  ELOOP: '; a link is where a directory is due',
  EPERM: '; it, or its directory, belongs to another user',
}
