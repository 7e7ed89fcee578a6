// Saves the transcripts of truncated sources in the spill directory, each whole or not at all. What stands in a file is
// render/transcript.ts; listing and pruning is spill-store.ts.

import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, lstat, mkdir, open, rename, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PRIVATE_FILE_MODE, removeOnAbort, type Undisturbed } from '../files/atomic-file.ts'
import type { ConversationMessage, FullSnapshot } from '../types.ts'
import { ignoring, refusalOf } from './system-errors.ts'
import type { TranscriptCapture } from './transcript.ts'

const PRIVATE_DIRECTORY_MODE = 0o700
const OTHERS_MODE_BITS = 0o077

/** Hex digits of the target's hash in a directory name, and of chance in a file name. */
const HASH_DIGITS = 16
const RANDOM_BYTES = 12

/** A name may be taken, and the directory may be pruned away under the hand; more often than this is no accident. */
const MAX_ATTEMPTS = 3

/** What a file system without hard links answers. */
const LINKLESS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

const RETRIEVAL_HINT =
  'Read this file for everything that was captured; each message is a run of JSON strings to parse and join. ' +
  '"dsh-ref transcript decode FILE" gives the exact texts, "dsh-ref transcript grep PATTERN FILE" searches them.'

/** A transcript to save: whom it is for, and the capture it comes from. */
export interface SpillContent {
  readonly targetId: string
  /** 1-based position among the references. */
  readonly position: number
  readonly capture: TranscriptCapture
  readonly messages: readonly ConversationMessage[]
}

/** How transcripts are saved. */
export interface SpillOptions {
  /** Gives the text of the artifact. */
  readonly render: (capture: TranscriptCapture, messages: readonly ConversationMessage[]) => string
  /** The directory itself is this tool's own, and so closed to others. */
  readonly isPrivate?: boolean
  /** 24 hex digits that nobody can guess. */
  readonly randomHex?: () => string
  /** Leaves no temporary file behind when it fires. */
  readonly signal?: AbortSignal | undefined
  /** Saves the bytes, once they are known. */
  readonly undisturbed?: Undisturbed
}

/**
 * Makes the `spill` of `prepare`: each call saves one artifact below `directory`. It throws `READ_FAILED`/`unreadable` with
 * the errno when that fails; nothing is left of the artifact then.
 */
export function spillTo(
  directory: string,
  {
    render,
    isPrivate = false,
    randomHex = () => randomBytes(RANDOM_BYTES).toString('hex'),
    signal,
    undisturbed = (work) => work(),
  }: SpillOptions,
): (content: SpillContent) => Promise<Extract<FullSnapshot, { status: 'saved' }>> {
  const root = resolve(directory)
  return async ({ targetId, position, capture, messages }) => {
    const bytes = Buffer.from(render(capture, messages))
    const parent = join(root, `session-${createHash('sha256').update(targetId).digest('hex').slice(0, HASH_DIGITS)}`)
    for (let attempt = 1; ; attempt++) {
      const path = join(parent, `${randomHex()}-session-reference-${position}.txt`)
      try {
        await mkdir(root, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
        if (isPrivate) await (await openPrivateDirectory(root)).close()
        await undisturbed(() => saveIn(parent, path, bytes, signal))
        return { status: 'saved', locator: path, bytes: bytes.length, retrievalHint: RETRIEVAL_HINT }
      } catch (cause) {
        const { code } = cause as NodeJS.ErrnoException
        if ((code === 'EEXIST' || code === 'ENOENT') && attempt < MAX_ATTEMPTS) continue
        throw refusalOf('save the transcript as', path, cause)
      }
    }
  }
}

async function saveIn(parent: string, path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
  await mkdir(parent, { mode: PRIVATE_DIRECTORY_MODE }).catch(ignoring('EEXIST'))
  const directory = await openPrivateDirectory(parent)
  try {
    await writeWhole(path, bytes, directory, signal)
  } finally {
    await directory.close()
  }
}

/** Opens a directory that must be no link and this user's own, and closes it to others. */
async function openPrivateDirectory(path: string): Promise<FileHandle> {
  // Windows has neither flag, nor user ids.
  const { O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants
  const directory = await open(path, constants.O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const { uid, mode } = await directory.stat()
    if (process.geteuid && uid !== process.geteuid()) {
      throw Object.assign(new Error(`${path} belongs to another user`), { code: 'EPERM' })
    }
    if ((mode & OTHERS_MODE_BITS) !== 0) await directory.chmod(PRIVATE_DIRECTORY_MODE)
    return directory
  } catch (error) {
    await directory.close()
    throw error
  }
}

/** The name appears when all bytes are on the disk, and takes the place of nothing. */
async function writeWhole(path: string, bytes: Uint8Array, directory: FileHandle, signal?: AbortSignal): Promise<void> {
  const temporary = `${path}.tmp`
  using _ = removeOnAbort(temporary, signal)
  const file = await open(temporary, 'wx', PRIVATE_FILE_MODE)
  let isPublished = false
  try {
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await publish(temporary, path)
    isPublished = true
    await directory.sync().catch(ignoring('EINVAL', 'EPERM', 'ENOTSUP'))
  } catch (error) {
    // The reason of the failure matters more than what a second one would say.
    await unlink(temporary).catch(() => undefined)
    if (isPublished) await unlink(path).catch(() => undefined)
    throw error
  }
}

/** Gives the temporary its name without replacing anything; throws when that did not happen. */
async function publish(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path)
  } catch (error) {
    if (!LINKLESS.has((error as NodeJS.ErrnoException).code ?? '')) throw error
    // Renaming replaces what has the name, but only chance could have given it to something else since this look.
    if (await lstat(path).catch(ignoring('ENOENT'))) throw Object.assign(new Error('taken'), { code: 'EEXIST' })
    await rename(temporary, path)
    return
  }
  // The transcript is saved; a second name that stays is left to prune.
  await unlink(temporary).catch(() => undefined)
}
