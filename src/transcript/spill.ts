// The spill directory: transcripts of truncated sources are saved in it, each whole or not at all, listed and pruned.
// What stands in a file is render/transcript.ts.

import { createHash, randomBytes } from 'node:crypto'
import { constants, type Dirent } from 'node:fs'
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, rmdir, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { readFailed } from '../errors.ts'
import { PRIVATE_FILE_MODE, removeOnAbort, type Undisturbed } from '../files/atomic-file.ts'
import type { ConversationMessage, FullSnapshot, Issue } from '../types.ts'
import { captureOf, type TranscriptCapture } from './transcript.ts'

const PRIVATE_DIRECTORY_MODE = 0o700
const OTHERS_MODE_BITS = 0o077

/** Hex digits of the target's hash in a directory name, and of chance in a file name. */
const HASH_DIGITS = 16
const RANDOM_BYTES = 12

/** The names this tool gives to directories in a spill directory. */
export const SPILL_DIRECTORY_NAME = /^session-[0-9a-f]{16}$/

/** The names this tool gives to files in them. A temporary is what a killed process left of a save. */
const FILE_NAME = /^[0-9a-f]{24}-session-reference-[1-9][0-9]*\.txt(?<temporary>\.tmp)?$/

/** A name may be taken, and the directory may be pruned away under the hand; more often than this is no accident. */
const MAX_ATTEMPTS = 3

/** What a file system without hard links answers. */
const LINKLESS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** Enough of a file to hold the capture record. */
const HEAD_BYTES = 64 * 1024

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

/** A file of the spill directory. */
export interface SpillFile {
  readonly path: string
  readonly bytes: number
  /** Epoch milliseconds. */
  readonly savedAt: number
}

/** A transcript of the spill directory. */
export interface SpilledTranscript extends SpillFile {
  /** Absent when the file does not begin as a transcript does. */
  readonly capture?: TranscriptCapture
}

/** The transcripts saved below `directory`, oldest first. Throws `READ_FAILED` when it cannot be read. */
export async function listSpills(directory: string): Promise<SpilledTranscript[]> {
  const transcripts: SpilledTranscript[] = []
  for (const { isTemporary, ...file } of await filesIn(resolve(directory))) {
    if (isTemporary) continue
    const capture = captureOf(await headOf(file.path))
    transcripts.push({ ...file, ...(capture && { capture }) })
  }
  return transcripts
}

/** What pruning removed, or would remove, and which files it could not. */
export interface Pruned {
  readonly removed: readonly SpillFile[]
  readonly issues: readonly Issue[]
}

/** Options of `pruneSpills`. */
export interface PruneOptions {
  /** Epoch milliseconds; now, if not given. */
  readonly now?: number
  /** Say what would be removed, and remove nothing. */
  readonly isDryRun?: boolean
}

/**
 * Removes the files below `directory` that this tool named and that were saved more than `olderThanMs` ago, and directories
 * it empties. Links and files of any other name stay. Throws `READ_FAILED` when the directory cannot be read.
 */
export async function pruneSpills(
  directory: string,
  olderThanMs: number,
  { now = Date.now(), isDryRun = false }: PruneOptions = {},
): Promise<Pruned> {
  const removed: SpillFile[] = []
  const issues: Issue[] = []
  for (const { isTemporary, ...file } of await filesIn(resolve(directory))) {
    if (now - file.savedAt <= olderThanMs) continue
    try {
      if (!isDryRun) await unlink(file.path)
      removed.push(file)
    } catch (cause) {
      const { message } = refusalOf('remove', file.path, cause)
      issues.push({ kind: 'unreadable-entry', message, file: file.path })
    }
  }
  if (!isDryRun) {
    for (const emptied of new Set(removed.map(({ path }) => join(path, '..')))) {
      // Refused as long as anything is in it, a save under way included.
      await rmdir(emptied).catch(() => undefined)
    }
  }
  return { removed, issues }
}

/** Regular files of this tool's names in real directories of its names, oldest first. */
async function filesIn(root: string): Promise<(SpillFile & { isTemporary: boolean })[]> {
  const files: (SpillFile & { isTemporary: boolean })[] = []
  for (const session of await entriesOf(root)) {
    if (!session.isDirectory() || !SPILL_DIRECTORY_NAME.test(session.name)) continue
    const directory = join(root, session.name)
    for (const entry of await entriesOf(directory)) {
      const name = FILE_NAME.exec(entry.name)
      if (!name || !entry.isFile()) continue
      const path = join(directory, entry.name)
      // Pruned by somebody else in between.
      const stat = await lstat(path).catch(ignoring('ENOENT'))
      if (!stat) continue
      files.push({
        path,
        bytes: stat.size,
        savedAt: Math.floor(stat.mtimeMs),
        isTemporary: name.groups?.temporary !== undefined,
      })
    }
  }
  return files.sort((one, other) => one.savedAt - other.savedAt || (one.path < other.path ? -1 : 1))
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch (cause) {
    throw refusalOf('read the spill directory', directory, cause)
  }
}

async function headOf(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (cause) {
    // A file that only its owner may read still has a size and an age to list.
    if (isSystemError(cause)) return ''
    throw cause
  }
}

/** Swallows these errors of the system and no others. */
function ignoring(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return undefined
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  // Node's own codes, ERR_…, are bugs of the caller.
  return /^E[A-Z0-9]+$/.test((error as NodeJS.ErrnoException).code ?? '')
}

function refusalOf(verb: string, path: string, cause: unknown) {
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
