// The transcripts in the spill directory: listed and pruned. How one gets there is spill.ts.

import { constants, type Dirent } from 'node:fs'
import { lstat, open, readdir, rmdir, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Issue } from '../types.ts'
import { ignoring, isSystemError, refusalOf } from './system-errors.ts'
import { captureOf, type TranscriptCapture } from './transcript.ts'

/** The names this tool gives to directories in a spill directory. */
export const SPILL_DIRECTORY_NAME = /^session-[0-9a-f]{16}$/

/** The names this tool gives to files in them. A temporary is what a killed process left of a save. */
const FILE_NAME = /^[0-9a-f]{24}-session-reference-[1-9][0-9]*\.txt(?<temporary>\.tmp)?$/

/** Enough of a file to hold the capture record. */
const HEAD_BYTES = 64 * 1024

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
