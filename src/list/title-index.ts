// The private cache of the list: headers, titles and health of logs that were read before, each good for exactly the file
// it came from. Whatever is wrong with the cache costs time, never correctness. Which logs there are is candidates.ts.

import { type BigIntStats, closeSync, fstatSync, lstatSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { DshRefError } from '../errors.ts'
import type { Undisturbed } from '../files/atomic-file.ts'
import { WriteGuard } from '../files/write-guard.ts'
import type { TitleResume } from '../fold/surface.ts'
import { isAscii } from '../text/json-bytes.ts'
import type { Issue, SessionHeader } from '../types.ts'

/**
 * First words of the file. Raise the number whenever an entry changes its shape, or reading the same log would give
 * another header, title, health or issue than before.
 */
const FORMAT = 'dsh-ref title index 5'

const FILE_NAME = 'titles'

/** The file beside it that says where texts are kept (search/text-cache.ts). */
export const TEXT_INDEX_NAME = 'texts'

/** Entries kept, those seen last first; with some 700 bytes each a file of 14 MB. */
const MAX_ENTRIES = 20_000

/** An entry longer than this, by a title, a name or a path out of proportion, is not kept, and its log is read each time. */
const MAX_ENTRY_LENGTH = 16_384

/** A longer file was not written by us. */
const MAX_FILE_BYTES = 2 * MAX_ENTRIES * MAX_ENTRY_LENGTH

/**
 * A directory changed less than this before it was listed may change again within the same tick of the file system's
 * clock, and its time would not tell. The coarsest clock in use ticks every 2 s (FAT).
 */
const SETTLED_MILLISECONDS = 3000

const DAY_MILLISECONDS = 86_400_000

/** What a list asks of a header. */
export interface LogBrief {
  readonly id: string
  readonly createdAt: number
  readonly cwd: string | undefined
  readonly origin: string | undefined
  readonly parentSession: string | undefined
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
  /** Issues of its place. */
  readonly placeIssues: readonly Issue[]
  /** Issues of its header; with a refusal the one that says why. */
  readonly headerIssues: readonly Issue[]
  /** Issues of the whole log, those of the header included. */
  readonly readingIssues?: readonly Issue[]
  /** Where to go on when the log has grown, and the header it has then. The reading may be gone by then. */
  readonly resume?: (TitleResume & { readonly header: SessionHeader }) | undefined
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
  /** Absent when there is nothing in them, which of a log nobody has read is the rule. */
  readonly details: LogDetails | undefined
}

/** Makes an entry. */
export function indexEntry(known: Omit<IndexEntry, 'hasIssues'>): IndexEntry {
  const { directoryKey, name, logKey, brief, refusal, reading } = known
  const { placeIssues, headerIssues, readingIssues = headerIssues, resume } = known.details ?? NO_DETAILS
  const hasIssues = placeIssues.length > 0 || readingIssues.length > 0
  const details = hasIssues || headerIssues.length > 0 || resume ? known.details : undefined
  return { directoryKey, name, logKey, brief, refusal, reading, hasIssues, details }
}

/** What absent details stand for. */
export const NO_DETAILS: LogDetails = { placeIssues: [], headerIssues: [] }

/**
 * The state of a log: device, inode, size, time of change, and that of the inode, in nanoseconds. Who copies one log over
 * another may set the former time back, never the latter.
 */
export function logKeyOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  // Joined, not a template, which would keep its parts beside it as long as it lives.
  return [dev, ino, size, mtimeNs, ctimeNs].join(':')
}

/** The state of a directory: what is in it has not changed while this has not. */
export function directoryKeyOf({ ino, mtimeNs }: BigIntStats): string {
  return [ino, mtimeNs].join(':')
}

/** Whether a directory of that time, listed now, can be trusted to show every later change by another time. */
export function isSettled({ mtimeMs }: Pick<BigIntStats, 'mtimeMs'>, now = Date.now()): boolean {
  return Number(mtimeMs) < now - SETTLED_MILLISECONDS
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

/** Thrown when an entry turns out to be damaged, or its file replaced: to be met by `TitleIndex.clear`. */
export class IndexDamaged extends Error {
  override readonly name = 'IndexDamaged'
}

/** The index in memory; `openTitleIndex` fills it. */
export class TitleIndex {
  readonly #directory: string
  readonly #today: number
  #entries = new Map<string, Kept>()
  #file: IndexFile | undefined
  #isChanged = false
  readonly #undisturbed: Undisturbed

  constructor(directory: string, now: number, undisturbed: Undisturbed = (work) => work()) {
    this.#directory = directory
    this.#undisturbed = undisturbed
    this.#today = Math.floor(now / DAY_MILLISECONDS)
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size
  }

  /** Fills the index from its file, if there is one to be trusted. */
  load(): void {
    try {
      this.#file = new IndexFile(join(this.#directory, FILE_NAME))
      this.#entries = decodeEntries(this.#file)
    } catch {
      this.#file?.close() // missing, unreadable, damaged or not ours: there is nothing to go by
    }
  }

  /** The entry of a session directory, by its absolute path. Its details may throw `IndexDamaged`. */
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

  /** Forgets everything, as if there had been no file. */
  clear(): void {
    this.#entries.clear()
    this.#isChanged = true
  }

  /**
   * Writes the index when it has changed, and lets go of its file. Another process that does the same at the same time
   * takes nothing but time: the file is replaced whole, and what one of the two learned is read again. A cache that cannot
   * be written is none.
   */
  async save(): Promise<void> {
    try {
      if (this.#isChanged) await this.#write()
      this.#isChanged = false
    } catch (error) {
      const isOfSystem = error instanceof DshRefError || (error as NodeJS.ErrnoException).code !== undefined
      if (!isOfSystem) throw error
    } finally {
      this.#file?.close()
    }
  }

  async #write(): Promise<void> {
    const isAll = this.#entries.size <= MAX_ENTRIES
    const lastSeen = isAll
      ? this.#entries
      : [...this.#entries].sort(([, one], [, other]) => other.seen - one.seen).slice(0, MAX_ENTRIES)
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    if (!isOurs(statSync(this.#directory))) return
    const { writeFileAtomic } = await import('../files/atomic-file.ts')
    // Its checksums tell a file that the disk never got whole.
    const bytes = encodeEntries(lastSeen)
    await this.#undisturbed(() => writeFileAtomic(join(this.#directory, FILE_NAME), bytes, { isSynced: false }))
  }
}

/**
 * Opens the index in `directory`; one that is missing, damaged, of another format or writable for others is empty. Throws
 * `INVALID_CONFIG` when the guard of `roots` and of the `logs` that are read allows no writing there. `undisturbed` writes it.
 */
export function openTitleIndex(
  directory: string,
  roots: readonly string[],
  now = Date.now(),
  logs: readonly string[] = [],
  undisturbed?: Undisturbed,
): TitleIndex {
  const guard = new WriteGuard(roots, logs)
  const advice = 'name one elsewhere with $DSH_REF_CACHE_DIR or $XDG_CACHE_HOME'
  guard.allow({ path: directory, what: 'cache directory', advice })
  for (const [name, what] of [
    [FILE_NAME, 'title index'],
    [TEXT_INDEX_NAME, 'text index'],
  ] as const) {
    const path = join(directory, name)
    if (hasOtherNames(path)) guard.allow({ path, what, advice })
  }
  const index = new TitleIndex(directory, now, undisturbed)
  index.load()
  return index
}

/** Whether a file is, or may be, one of somewhere else. */
function hasOtherNames(path: string): boolean {
  try {
    const state = lstatSync(path)
    return state.isSymbolicLink() || state.nlink > 1
  } catch {
    return false // nothing there to be replaced
  }
}

interface Kept {
  readonly entry: IndexEntry
  /** Day on which the entry was last asked for. */
  seen: number
}

/** Whether nobody else could have written it. Windows has no such notion; there a home directory is private by itself. */
export function isOurs({ uid, mode }: { uid: number; mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
}

// --- the file ---
//
// A head of fixed length; a flat JSON list with what every list needs of every log; and the details, a JSON text each, of
// which only those are read that somebody asks for. Five thousand entries as JSON objects would take longer to parse than
// the logs take to look at.

const HEAD_BYTES = 64

/** Where the values of an entry stand in its part of the flat list, in the order in which they are written. */
const FIELD = {
  project: 0,
  segment: 1,
  seen: 2,
  directoryKey: 3,
  name: 4,
  logKey: 5,
  refusal: 6,
  id: 7,
  createdAt: 8,
  cwd: 9,
  origin: 10,
  parentSession: 11,
  flags: 12,
  health: 13,
  title: 14,
  updatedAt: 15,
  detailLength: 16,
  detailChecksum: 17,
}
const FIELDS = Object.keys(FIELD).length

/** Stands for the value of the entry before, and as an id for the name of its directory. */
const SAME = 0

type Value = string | number | null

/** Text that JSON writes as it is. */
const PLAIN = /^[ !#-[\]-~]*$/

const IS_SUBAGENT = 1
const IS_MISPLACED = 2
const HAS_ISSUES = 4

function encodeEntries(entries: Iterable<readonly [string, Kept]>): Buffer {
  // Text, entry by entry, and none of it is kept: as values there would be ninety thousand for five thousand entries.
  const list = new AsciiWriter()
  const details = new AsciiWriter()
  let lastProject: string | undefined
  let lastName: string | undefined
  let lastCwd: string | undefined
  for (const [directory, { entry, seen }] of entries) {
    const { name, brief, reading, refusal, directoryKey, logKey } = entry
    const detail = detailOf(entry)
    if (detail === undefined) continue
    const cut = directory.lastIndexOf(sep)
    const project = directory.slice(0, cut)
    const segment = directory.slice(cut)
    const cwd = brief?.cwd
    const title = reading?.title
    const texts = detail.length + directory.length + name.length + logKey.length + lengthOf(title) + lengthOf(cwd)
    const others = lengthOf(brief?.id) + lengthOf(brief?.origin) + lengthOf(brief?.parentSession)
    if (texts + others > MAX_ENTRY_LENGTH) continue
    const flags =
      (brief?.isSubagent ? IS_SUBAGENT : 0) |
      (brief?.isMisplaced ? IS_MISPLACED : 0) |
      (entry.hasIssues ? HAS_ISSUES : 0)
    const line = [
      project === lastProject ? SAME : json(project),
      json(segment),
      seen,
      json(directoryKey),
      name === lastName ? SAME : json(name),
      json(logKey),
      json(refusal),
      brief && sep + brief.id === segment ? SAME : json(brief?.id),
      json(brief?.createdAt),
      cwd !== undefined && cwd === lastCwd ? SAME : json(cwd),
      json(brief?.origin),
      json(brief?.parentSession),
      flags,
      json(reading?.health),
      json(title),
      json(reading?.updatedAt),
      detail.length,
      detail === '' ? 0 : checksumOf(Buffer.from(detail, 'latin1')),
    ]
    list.write(`${list.length === 0 ? '[' : ','}${line.join()}`)
    lastProject = project
    lastName = name
    lastCwd = cwd ?? lastCwd
    details.write(detail)
  }
  list.write(list.length === 0 ? '[]' : ']')
  return Buffer.concat([Buffer.from(headOf(list.bytes)), list.bytes, details.bytes])
}

/** Collects ASCII texts as bytes. */
class AsciiWriter {
  length = 0
  #buffer = Buffer.allocUnsafeSlow(64 * 1024)

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length)
  }

  write(text: string): void {
    if (this.length + text.length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.length + text.length))
      this.#buffer.copy(larger, 0, 0, this.length)
      this.#buffer = larger
    }
    this.length += this.#buffer.write(text, this.length, 'latin1')
  }
}

function lengthOf(text: string | undefined): number {
  return text === undefined ? 0 : text.length
}

/** A value of the list as JSON; `null` for what is absent. */
function json(value: string | number | undefined): string {
  if (typeof value === 'number') return `${value}`
  if (value === undefined) return 'null'
  return PLAIN.test(value) ? `"${value}"` : asciiOf(JSON.stringify(value))
}

/** JSON in ASCII: it is decoded in a third of the time, and is as many bytes as characters. */
export function asciiOf(json: string): string {
  return isAscii(json) ? json : json.replace(/[\u0080-\uffff]/g, escapeUnit)
}

/** The details as JSON, no text when there are none; `undefined` for damaged ones, which are not written again. */
function detailOf(entry: IndexEntry): string | undefined {
  if (!(entry instanceof StoredEntry)) return entry.details ? asciiOf(JSON.stringify(entry.details)) : ''
  try {
    return entry.detail
  } catch (error) {
    if (error instanceof IndexDamaged) return undefined
    throw error
  }
}

function decodeEntries(file: IndexFile): Map<string, Kept> {
  const entries = new Map<string, Kept>()
  const values = JSON.parse(file.list) as Value[]
  let project = ''
  let name = ''
  let cwd = ''
  let offset = HEAD_BYTES + file.list.length
  for (let at = 0; at < values.length; at += FIELDS) {
    if (values[at + FIELD.project] !== SAME) project = values[at + FIELD.project] as string
    if (values[at + FIELD.name] !== SAME) name = values[at + FIELD.name] as string
    if (typeof values[at + FIELD.cwd] === 'string') cwd = values[at + FIELD.cwd] as string
    const entry = new StoredEntry(file, values, at, name, cwd, offset)
    entries.set(project + (values[at + FIELD.segment] as string), { entry, seen: values[at + FIELD.seen] as number })
    offset += values[at + FIELD.detailLength] as number
  }
  return entries
}

/** The file of an index. It stays open, so that its details are those of its list when another process replaces it. */
class IndexFile {
  readonly list: string
  readonly #path: string
  readonly #head: string
  #descriptor: number | undefined

  constructor(path: string) {
    this.#path = path
    try {
      this.#descriptor = this.#open()
      this.#head = readAt(this.#descriptor, 0, HEAD_BYTES).toString('latin1')
      const list = readAt(this.#descriptor, HEAD_BYTES, listLengthOf(this.#head))
      if (headOf(list) !== this.#head) throw new IndexDamaged('The index is damaged, or of another format')
      this.list = list.toString('latin1')
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Details of an entry; throws `IndexDamaged` when they are not what was written. */
  detail(offset: number, length: number, checksum: number): string {
    this.#descriptor ??= this.#reopen()
    const detail = readAt(this.#descriptor, offset, length)
    if (checksumOf(detail) !== checksum) throw new IndexDamaged('An entry of the index is damaged')
    return detail.toString('latin1')
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #open(): number {
    const descriptor = openSync(this.#path, 'r')
    const stat = fstatSync(descriptor)
    if (stat.isFile() && isOurs(stat) && stat.size <= MAX_FILE_BYTES) return descriptor
    closeSync(descriptor)
    throw new IndexDamaged('The file is not one of ours')
  }

  #reopen(): number {
    try {
      const descriptor = this.#open()
      if (readAt(descriptor, 0, HEAD_BYTES).toString('latin1') === this.#head) return descriptor
      closeSync(descriptor)
    } catch (cause) {
      throw new IndexDamaged('The index is gone', { cause })
    }
    throw new IndexDamaged('The index was replaced')
  }
}

function readAt(descriptor: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  if (readSync(descriptor, bytes, 0, length, offset) !== length) throw new IndexDamaged('The index is cut off')
  return bytes
}

function headOf(list: Uint8Array): string {
  return `${`${FORMAT} ${list.length} ${checksumOf(list)}`.padEnd(HEAD_BYTES - 1)}\n`
}

function listLengthOf(head: string): number {
  const length = Number(head.slice(FORMAT.length).trim().split(' ')[0])
  if (head.startsWith(FORMAT) && length <= MAX_FILE_BYTES) return length
  throw new IndexDamaged('The index has another format')
}

/** FNV-1a over words. It has to find damage, not forgery, and node:crypto takes longer to load than this to run. */
function checksumOf(bytes: Uint8Array): number {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >>> 2)
  let hash = 0x811c9dc5
  // Not for…of, which takes ten times as long here.
  for (let at = 0; at < words.length; at++) {
    hash = Math.imul(hash ^ (words[at] as number), 0x01000193)
    // Multiplying carries bits upwards only: without this two changes of highest bits undo each other.
    hash ^= hash >>> 15
  }
  for (let at = words.length * 4; at < bytes.length; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  return hash >>> 0
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** An entry as it stands in the file; what nobody asks for is never made. */
class StoredEntry implements IndexEntry {
  readonly name: string
  readonly #file: IndexFile
  readonly #values: readonly Value[]
  readonly #at: number
  /** The cwd of this entry, or of the last one before it that has any. */
  readonly #cwd: string
  readonly #offset: number

  constructor(file: IndexFile, values: readonly Value[], at: number, name: string, cwd: string, offset: number) {
    this.#file = file
    this.#values = values
    this.#at = at
    this.name = name
    this.#cwd = cwd
    this.#offset = offset
  }

  get directoryKey(): string {
    return this.#value(FIELD.directoryKey) as string
  }

  get logKey(): string {
    return this.#value(FIELD.logKey) as string
  }

  get refusal(): IndexEntry['refusal'] {
    return (this.#value(FIELD.refusal) as IndexEntry['refusal'] | null) ?? undefined
  }

  get brief(): LogBrief | undefined {
    const id = this.#value(FIELD.id) as string | typeof SAME | null
    if (id === null) return undefined
    const flags = this.#value(FIELD.flags) as number
    return {
      id: id === SAME ? (this.#value(FIELD.segment) as string).slice(sep.length) : id,
      createdAt: this.#value(FIELD.createdAt) as number,
      cwd: this.#value(FIELD.cwd) === null ? undefined : this.#cwd,
      origin: this.#text(FIELD.origin),
      parentSession: this.#text(FIELD.parentSession),
      isSubagent: (flags & IS_SUBAGENT) !== 0,
      isMisplaced: (flags & IS_MISPLACED) !== 0,
    }
  }

  get reading(): LogReading | undefined {
    const health = this.#value(FIELD.health) as LogReading['health'] | null
    if (health === null) return undefined
    return {
      health,
      title: this.#text(FIELD.title),
      updatedAt: (this.#value(FIELD.updatedAt) as number | null) ?? undefined,
    }
  }

  get hasIssues(): boolean {
    return ((this.#value(FIELD.flags) as number) & HAS_ISSUES) !== 0
  }

  get details(): LogDetails | undefined {
    const { detail } = this
    return detail === '' ? undefined : (JSON.parse(detail) as LogDetails)
  }

  /** The details as stored. */
  get detail(): string {
    const length = this.#value(FIELD.detailLength) as number
    return length === 0 ? '' : this.#file.detail(this.#offset, length, this.#value(FIELD.detailChecksum) as number)
  }

  #text(field: number): string | undefined {
    return (this.#value(field) as string | null) ?? undefined
  }

  #value(field: number): Value {
    return this.#values[this.#at + field] as Value
  }
}
