// Whose a file is: what others could have written is not trusted.

/** Whether nobody else could have written it. Windows has no such notion; there a home directory is private by itself. */
export function isOurs({ uid, mode }: { uid: number; mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
}
