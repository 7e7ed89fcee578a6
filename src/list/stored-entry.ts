// Entries as the file of the title index holds them: decoded where they stand, and only as far as somebody asks.

import { sep } from 'node:path'
import type { IndexEntry, LogBrief, LogDetails, LogReading } from './index-entry.ts'
import { HEAD_BYTES, type IndexFile } from './index-file.ts'
import { FIELD, FIELDS, HAS_ISSUES, IS_MISPLACED, IS_SUBAGENT, type Kept, SAME, type Value } from './index-layout.ts'

/** The entries of a file by session directory. Throws when the list is not JSON. */
export function decodeEntries(file: IndexFile): Map<string, Kept> {
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

/** An entry as it stands in the file; what nobody asks for is never made. */
export class StoredEntry implements IndexEntry {
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
      firstMessage: this.#text(FIELD.firstMessage),
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
