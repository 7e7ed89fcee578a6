// The private cache of the list: headers, titles and health of logs that were read before, each good for exactly the file
// it came from. Whatever is wrong with the cache costs time, never correctness. Which logs there are is candidates.ts.

import {
  type BigIntStats,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { DshRefError } from './errors.ts'
import type { TitleResume } from './surface.ts'
import type { Issue, SessionHeader } from './types.ts'

/**
 * First words of the file. Raise the number whenever an entry changes its shape, or reading the same log would give
 * another header, title, health or issue than before.
 */
const FORMAT = 'dsh-ref title index 1'

const FILE_NAME = 'titles'

/** Entries kept, those seen last first; with some 700 bytes each a file of 14 MB. */
const MAX_ENTRIES = 20_000

/** An entry longer than this, by a title or an id out of proportion, is not kept, and its log is read each time. */
const MAX_ENTRY_LENGTH = 16_384

/** A longer file was not written by us. */
const MAX_FILE_BYTES = 2 * MAX_ENTRIES * MAX_ENTRY_LENGTH

/**
 * A directory changed less than this before it was listed may change again within the same tick of the file system's
 * clock, and its time would not tell. The coarsest clock in use ticks every 2 s (FAT).
 */
const SETTLED_MILLISECONDS = 3000

const DAY_MILLISECONDS = 86_400_000

/** What filters and order ask of a header. */
export interface LogBrief {
  readonly id: string
  readonly createdAt: number
  readonly cwd: string | undefined
  readonly isSubagent: boolean
  /** Whether the log lies elsewhere than its header leads. */
  readonly isMisplaced: boolean
}

/** What a reading of a whole log gave. */
export interface LogReading {
  readonly health: 'ok' | 'torn' | 'corrupt' | 'unsupported'
  readonly title: string | undefined
  /** Time of the newest stored event, epoch milliseconds; absent when the log was refused. */
  readonly updatedAt: number | undefined
}

/** What is asked of few logs only, and so is read out of the file one by one. */
export interface LogDetails {
  readonly header?: SessionHeader
  /** Issues of its place. */
  readonly placeIssues: readonly Issue[]
  /** Issues of its header; with a refusal the one that says why. */
  readonly headerIssues: readonly Issue[]
  /** Issues of the whole log, those of the header included. */
  readonly readingIssues?: readonly Issue[]
  /** Where to go on when the log has grown. The reading may be gone by then. */
  readonly resume?: TitleResume
}

/** What is known about the log of one session directory. */
export interface IndexEntry {
  /** The state of the directory in which this log was found the newest; `''` when it may have changed unnoticed. */
  readonly directoryKey: string
  /** Name of the log in its directory. */
  readonly name: string
  /** The state of the log that the rest is true for. */
  readonly logKey: string
  /** Absent when the log was refused by its header. */
  readonly brief: LogBrief | undefined
  /** Why the log cannot be read, as far as its header tells. One of an unknown version may have a header all the same. */
  readonly refusal: 'corrupt' | 'unsupported' | 'unreadable' | undefined
  readonly reading: LogReading | undefined
  /** Whether there are any issues in the details. */
  readonly hasIssues: boolean
  readonly details: LogDetails
}

/** Makes an entry. */
export function indexEntry(known: Omit<IndexEntry, 'hasIssues'>): IndexEntry {
  const { directoryKey, name, logKey, brief, refusal, reading, details } = known
  const { placeIssues, headerIssues, readingIssues = headerIssues } = details
  const hasIssues = placeIssues.length > 0 || readingIssues.length > 0
  return { directoryKey, name, logKey, brief, refusal, reading, hasIssues, details }
}

/** The state of a log: device, inode, size and time of change in nanoseconds. */
export function logKeyOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`
}

/** The state of a directory: what is in it has not changed while this has not. */
export function directoryKeyOf({ dev, ino, mtimeMs }: { dev: number; ino: number; mtimeMs: number }): string {
  return `${dev}:${ino}:${mtimeMs}`
}

/** Whether a directory of that time, listed now, can be trusted to show every later change by another time. */
export function isSettled({ mtimeMs }: { mtimeMs: number }, now = Date.now()): boolean {
  return mtimeMs < now - SETTLED_MILLISECONDS
}

/** Whether a log in one state may be the same log with rows added to it. */
export function hasGrown(before: string, after: string): boolean {
  const [dev, ino, size] = before.split(':')
  const [devNow, inoNow, sizeNow] = after.split(':')
  return dev === devNow && ino === inoNow && Number(size) < Number(sizeNow)
}

/** Where the cache is: `$DSH_REF_CACHE_DIR`, else below `$XDG_CACHE_HOME`, else `~/.cache`. */
export function cacheDirectory(env: Readonly<Record<string, string | undefined>>, home: string): string {
  if (env.DSH_REF_CACHE_DIR) return resolve(env.DSH_REF_CACHE_DIR)
  // The XDG rules: a relative path is to be ignored.
  const base = env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME) ? env.XDG_CACHE_HOME : join(home, '.cache')
  return join(base, 'dsh-ref')
}

/** The index in memory; `openTitleIndex` fills it. */
export class TitleIndex {
  readonly #directory: string
  readonly #entries: Map<string, Kept>
  readonly #today: number
  #isChanged = false

  constructor(directory: string, entries: Map<string, Kept>, now: number) {
    this.#directory = directory
    this.#entries = entries
    this.#today = Math.floor(now / DAY_MILLISECONDS)
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size
  }

  /** The entry of a session directory, by its absolute path. */
  get(sessionDirectory: string): IndexEntry | undefined {
    const kept = this.#entries.get(sessionDirectory)
    if (!kept) return undefined
    if (kept.seen !== this.#today) {
      // Once a day: a list that changed nothing else shall not write.
      kept.seen = this.#today
      this.#isChanged = true
    }
    return kept.entry
  }

  /** Puts an entry in the place of the one there was. */
  set(sessionDirectory: string, entry: IndexEntry): void {
    this.#entries.set(sessionDirectory, { entry, seen: this.#today })
    this.#isChanged = true
  }

  /**
   * Writes the index when it has changed. Another process that does the same at the same time takes nothing but time:
   * the file is replaced whole, and what one of the two learned is read again. A cache that cannot be written is none.
   */
  async save(): Promise<void> {
    if (!this.#isChanged) return
    this.#isChanged = false
    const lastSeen = [...this.#entries].sort(([, one], [, other]) => other.seen - one.seen).slice(0, MAX_ENTRIES)
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      if (!isOurs(statSync(this.#directory))) return
      // Loaded late: it brings node:crypto, which a list that has nothing to write never needs.
      const { writeFileAtomic } = await import('./atomic-file.ts')
      await writeFileAtomic(join(this.#directory, FILE_NAME), encodeEntries(lastSeen))
    } catch (error) {
      if (!(error instanceof DshRefError) && (error as NodeJS.ErrnoException).code === undefined) throw error
    }
  }
}

/**
 * Opens the index in `directory`; one that is missing, damaged, of another format or writable for others is empty.
 * `undefined` when the directory lies below one of `roots`, under which nothing is ever written.
 */
export function openTitleIndex(directory: string, roots: readonly string[], now = Date.now()): TitleIndex | undefined {
  const real = realPath(directory)
  if (roots.some((root) => isBelow(real, realPath(root)))) return undefined
  return new TitleIndex(directory, loadEntries(join(directory, FILE_NAME)), now)
}

interface Kept {
  readonly entry: IndexEntry
  /** Day on which the entry was last asked for. */
  seen: number
}

function loadEntries(path: string): Map<string, Kept> {
  try {
    return decodeEntries(readOwn(path))
  } catch {
    return new Map() // missing, unreadable, damaged or not ours: there is nothing to go by
  }
}

function readOwn(path: string): Buffer {
  const descriptor = openSync(path, 'r')
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile() || !isOurs(stat) || stat.size > MAX_FILE_BYTES) throw new Error('Not a file of ours')
    return readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Whether nobody else could have written it. Windows has no such notion; there a home directory is private by itself. */
function isOurs({ uid, mode }: { uid: number; mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
}

// --- the file ---
//
// A head of fixed length; one flat JSON list with what every list needs of every log; and the details, a JSON text each,
// which are decoded only when asked for. Five thousand entries as JSON objects would take longer to parse than the files
// take to look at.

const HEAD_BYTES = 64

/** Values of an entry in the flat list. */
const FIELDS = 17

type Value = string | number | null

function encodeEntries(entries: readonly (readonly [string, Kept])[]): Buffer {
  const values: Value[] = []
  const details: Buffer[] = []
  let offset = 0
  for (const [directory, { entry, seen }] of entries) {
    const detail = entry instanceof StoredEntry ? entry.detail : Buffer.from(JSON.stringify(entry.details))
    const { brief, reading } = entry
    const row: Value[] = [directory, seen, entry.directoryKey, entry.name, entry.logKey, entry.refusal ?? null]
    row.push(brief?.id ?? null, brief?.createdAt ?? null, brief?.cwd ?? null)
    row.push(Number(brief?.isSubagent ?? 0), Number(brief?.isMisplaced ?? 0))
    row.push(reading?.health ?? null, reading?.title ?? null, reading?.updatedAt ?? null)
    row.push(Number(entry.hasIssues), offset, detail.length)
    const length = row.reduce<number>(
      (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
      detail.length,
    )
    if (length > MAX_ENTRY_LENGTH) continue
    values.push(...row)
    details.push(detail)
    offset += detail.length
  }
  // As ASCII it is decoded in a third of the time.
  const list = Buffer.from(JSON.stringify(values).replace(/[\u0080-\uffff]/g, escapeUnit))
  const body = Buffer.concat([list, ...details])
  return Buffer.concat([Buffer.from(headOf(list.length, body)), body])
}

function decodeEntries(file: Buffer): Map<string, Kept> {
  const body = file.subarray(HEAD_BYTES)
  const head = file.toString('latin1', 0, HEAD_BYTES)
  const listLength = Number(head.slice(FORMAT.length).trim().split(' ')[0])
  if (head !== headOf(listLength, body)) throw new Error('The index is damaged, or of another format')
  const values = JSON.parse(body.toString('latin1', 0, listLength)) as Value[]
  const details = body.subarray(listLength)
  const entries = new Map<string, Kept>()
  for (let at = 0; at < values.length; at += FIELDS) {
    entries.set(values[at] as string, { entry: new StoredEntry(values, at, details), seen: values[at + 1] as number })
  }
  return entries
}

function headOf(listLength: number, body: Uint8Array): string {
  return `${`${FORMAT} ${listLength} ${body.length} ${checksumOf(body)}`.padEnd(HEAD_BYTES - 1)}\n`
}

/** FNV-1a over words. It has to find damage, not forgery, and node:crypto takes longer to load than this to run. */
function checksumOf(body: Uint8Array): number {
  const bytes = body.byteOffset % 4 === 0 ? body : Uint8Array.from(body)
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2)
  let hash = 0x811c9dc5
  // Not for…of, which takes ten times as long here.
  for (let at = 0; at < words.length; at++) hash = Math.imul(hash ^ (words[at] as number), 0x01000193)
  for (let at = words.length * 4; at < bytes.length; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  return hash >>> 0
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** An entry as it stands in the file. */
class StoredEntry implements IndexEntry {
  readonly #values: readonly Value[]
  readonly #at: number
  readonly #details: Buffer

  constructor(values: readonly Value[], at: number, details: Buffer) {
    this.#values = values
    this.#at = at
    this.#details = details
  }

  get directoryKey(): string {
    return this.#value(2) as string
  }

  get name(): string {
    return this.#value(3) as string
  }

  get logKey(): string {
    return this.#value(4) as string
  }

  get refusal(): IndexEntry['refusal'] {
    return (this.#value(5) as IndexEntry['refusal']) ?? undefined
  }

  get brief(): LogBrief | undefined {
    const id = this.#value(6) as string | null
    if (id === null) return undefined
    return {
      id,
      createdAt: this.#value(7) as number,
      cwd: (this.#value(8) as string | null) ?? undefined,
      isSubagent: this.#value(9) === 1,
      isMisplaced: this.#value(10) === 1,
    }
  }

  get reading(): LogReading | undefined {
    const health = this.#value(11) as LogReading['health'] | null
    if (health === null) return undefined
    return {
      health,
      title: (this.#value(12) as string | null) ?? undefined,
      updatedAt: (this.#value(13) as number | null) ?? undefined,
    }
  }

  get hasIssues(): boolean {
    return this.#value(14) === 1
  }

  get details(): LogDetails {
    return JSON.parse(this.detail.toString('utf8')) as LogDetails
  }

  /** The details as stored. */
  get detail(): Buffer {
    const offset = this.#value(15) as number
    return this.#details.subarray(offset, offset + (this.#value(16) as number))
  }

  #value(field: number): Value {
    return this.#values[this.#at + field] as Value
  }
}

// --- where it may be ---

/** The real path of something whose last parts need not exist yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), basename(path))
  }
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path)
  return way === '' || !(way === '..' || way.startsWith('../') || way.startsWith('..\\') || isAbsolute(way))
}
