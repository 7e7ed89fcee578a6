// Writes a file whole or not at all: an exclusive temporary beside it, synced, then renamed over the name.

import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readFailed } from './errors.ts'

/** Mode of every file this tool writes: its owner's only. */
export const PRIVATE_FILE_MODE = 0o600

/**
 * Writes `content` to `path`, mode 0600, replacing what was there. A planted file or link is never followed: the temporary
 * is created exclusively. Throws `READ_FAILED`/`unreadable` with the errno when the system refuses.
 */
export async function writeFileAtomic(path: string, content: string | Uint8Array, signal?: AbortSignal): Promise<void> {
  await refuseDevice(path)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', PRIVATE_FILE_MODE)
    try {
      await writeAll(file, content, signal)
      await file.sync()
    } finally {
      await file.close()
    }
    signal?.throwIfAborted()
    await rename(temporary, path)
  } catch (cause) {
    await unlink(temporary).catch(() => undefined) // nothing to remove when the temporary was never made
    signal?.throwIfAborted()
    const { code } = cause as NodeJS.ErrnoException
    if (code === undefined) throw cause
    throw readFailed(
      'unreadable',
      `Cannot write ${path} (${code}); check that ${dirname(path)} is a writable directory`,
      {
        file: path,
        errno: code,
      },
      { cause },
    )
  }
}

/** Renaming over a device or a FIFO would remove it: as root `--output /dev/null` would take /dev/null away. */
async function refuseDevice(path: string): Promise<void> {
  const state = await stat(path).catch(() => undefined) // what cannot be looked at is refused when it is written
  if (!state || state.isFile() || state.isDirectory()) return
  throw readFailed('unreadable', `${path} is no regular file, and writing would replace it; print to a pipe instead`, {
    file: path,
  })
}

async function writeAll(
  file: FileHandle,
  content: string | Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  await file.writeFile(content, { ...(signal && { signal }) })
}
