// Writes entries as the file of the title index holds them.

import { sep } from 'node:path'
import { asciiOf } from '../text/json-bytes.ts'
import type { IndexEntry } from './index-entry.ts'
import { checksumOf, headOf, IndexDamaged, MAX_ENTRY_LENGTH } from './index-file.ts'
import { HAS_ISSUES, IS_MISPLACED, IS_SUBAGENT, type Kept, SAME } from './index-layout.ts'
import { StoredEntry } from './stored-entry.ts'

/** Text that JSON writes as it is. */
const PLAIN = /^[ !#-[\]-~]*$/

/** The whole file; an entry out of proportion, or damaged, is left out. */
export function encodeEntries(entries: Iterable<readonly [string, Kept]>): Buffer {
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
      json(reading?.firstMessage),
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
