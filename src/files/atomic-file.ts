// Writes a file whole or not at all: an exclusive temporary beside it, synced, then renamed over the name.

import { close, fsync, open, rename, stat, unlink, unlinkSync, writeFile } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { readFailed } from '../errors.ts'

// Not node:fs/promises, which takes 3 ms to load.
const calls = {
  close: promisify(close),
  fsync: promisify(fsync),
  open: promisify(open),
  rename: promisify(rename),
  stat: promisify(stat),
  unlink: promisify(unlink),
  writeFile: promisify(writeFile),
}

/** Mode of every file this tool writes: its owner's only. */
export const PRIVATE_FILE_MODE = 0o600

/** Does work that leaves something behind when it is ended in the middle; for whoever knows what could end it. */
export type Undisturbed = <Result>(work: () => Promise<Result>) => Promise<Result>

/** How a file is written. */
export interface WriteOptions {
  readonly signal?: AbortSignal | undefined
  /** Whether the bytes are on the disk before the name is theirs. Default: yes; no for what can be made again. */
  readonly isSynced?: boolean
}

/**
 * Writes `content` to `path`, mode 0600, replacing what was there. No link is followed, a planted one neither: the temporary
 * is created exclusively. Whether the path may be written at all is write-guard.ts. Throws `READ_FAILED`/`unreadable` with the errno when the system refuses.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  { signal, isSynced = true }: WriteOptions = {},
): Promise<void> {
  await refuseDevice(path)
  const temporary = `${path}.${randomDigits()}.tmp`
  using _ = removeOnAbort(temporary, signal)
  try {
    const file = await calls.open(temporary, 'wx', PRIVATE_FILE_MODE)
    try {
      await calls.writeFile(file, content, { ...(signal && { signal }) })
      if (isSynced) await calls.fsync(file)
    } finally {
      await calls.close(file)
    }
    signal?.throwIfAborted()
    await calls.rename(temporary, path)
  } catch (cause) {
    await calls.unlink(temporary).catch(() => undefined) // nothing to remove when the temporary was never made
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

/**
 * Removes a temporary file as soon as the signal fires, until it is disposed of: syncing may take longer than the process
 * has left.
 */
export function removeOnAbort(temporary: string, signal: AbortSignal | undefined): Disposable {
  const remove = () => {
    try {
      unlinkSync(temporary)
    } catch {
      // Not made yet, or renamed by now.
    }
  }
  signal?.addEventListener('abort', remove, { once: true })
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', remove) }
}

/** Twelve of them. Who guesses them gains nothing: a name that is taken is refused. */
function randomDigits(): string {
  return Math.random().toString(36).slice(2, 14).padEnd(12, '0')
}

/** Renaming over a device or a FIFO would remove it: as root `--output /dev/null` would take /dev/null away. */
async function refuseDevice(path: string): Promise<void> {
  const state = await calls.stat(path).catch(() => undefined) // what cannot be looked at is refused when it is written
  if (!state || state.isFile() || state.isDirectory()) return
  throw readFailed('unreadable', `${path} is no regular file, and writing would replace it; print to a pipe instead`, {
    file: path,
  })
}
