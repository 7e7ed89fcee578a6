// The first row of a log (FORMAT.md section 2): version before shape, wrong types refuse, odd values are issues.

import { readFailed } from '../errors.ts'
import { briefText } from '../text/json-bytes.ts'
import { type Issue, NEWEST_FORMAT_VERSION, type SessionHeader } from '../types.ts'
import { IssueLog } from './issues.ts'
import {
  boolean,
  count,
  isObject,
  type Json,
  literal,
  object,
  problemFacts,
  problemIn,
  type Shape,
  string,
} from './shape.ts'

/** What decides what the log is and where it stands. */
export const HEADER = object({
  type: literal('session'),
  version: count,
  id: string,
  createdAt: count,
  'cwd?': string,
})

/** Fields that change neither surface nor text: a wrong one is left out and reported. */
const SIDE_FIELDS: Readonly<Record<string, Shape>> = {
  parentSession: string,
  seedLength: count,
  isSeeded: boolean,
  origin: string,
  delegationDepth: count,
  agentPreset: string,
}

const KNOWN_KEYS = new Set([...HEADER.members.map(({ key }) => key), ...Object.keys(SIDE_FIELDS)])

const RETIRED_KEYS = new Set(['sandboxMode', 'approvalPolicy'])

/** A header and what is odd about it. */
export interface DecodedHeader {
  readonly header: SessionHeader
  readonly issues: readonly Issue[]
}

/**
 * Decodes the header row. Throws `READ_FAILED`: `corrupt` when it is no header, `unsupported` when its version is newer
 * than this build reads and `allowUnknownVersion` is false.
 */
export function decodeHeader(row: string, options: { allowUnknownVersion: boolean }): DecodedHeader {
  let stored: unknown
  try {
    stored = JSON.parse(row)
  } catch (cause) {
    throw readFailed(
      'corrupt',
      'The first row is not JSON, so this is no session log',
      { rule: 'header', line: 1 },
      { cause },
    )
  }
  const version = versionOf(stored)
  if (version !== undefined && version > NEWEST_FORMAT_VERSION && !options.allowUnknownVersion) {
    throw readFailed(
      'unsupported',
      `The log has format version ${version}; this build reads versions 0 to ${NEWEST_FORMAT_VERSION}. ` +
        'Use a newer dsh-ref, or --allow-unknown-version to read it by shape',
      { rule: 'unknown-version', formatVersion: version },
    )
  }
  const problem = problemIn(HEADER, stored)
  if (problem) {
    const { words, facts } = problemFacts(problem)
    throw readFailed('corrupt', `The first row is not a session header${words}`, { rule: 'header', line: 1, ...facts })
  }
  return withSideFields(stored as HeaderRow)
}

type HeaderRow = Json & Pick<SessionHeader, 'version' | 'id' | 'createdAt' | 'cwd'>

function withSideFields(row: HeaderRow): DecodedHeader {
  const { version, id, createdAt, cwd } = row
  const header: { -readonly [Key in keyof SessionHeader]: SessionHeader[Key] } & Json = { version, id, createdAt }
  if (cwd !== undefined) header.cwd = cwd
  const wrong: string[] = []
  const foreign = foreignKeyOf(version)
  for (const [key, shape] of Object.entries(SIDE_FIELDS)) {
    const value = row[key]
    if (value === undefined || key === foreign) continue
    if (problemIn(shape, value)) wrong.push(key)
    else header[key] = value
  }
  return { header, issues: oddities(header, row, wrong) }
}

/** The key for the inherited part that a version does not have. */
function foreignKeyOf(version: number): 'isSeeded' | 'seedLength' {
  return version < 2 ? 'isSeeded' : 'seedLength'
}

function versionOf(stored: unknown): number | undefined {
  if (!isObject(stored)) return undefined
  const { type, version } = stored
  return type === 'session' && Number.isSafeInteger(version) ? (version as number) : undefined
}

function oddities(header: SessionHeader, row: Json, wrong: readonly string[]): Issue[] {
  const issues: Issue[] = []
  const odd = (kind: Issue['kind'], message: string) => issues.push({ kind, message, line: 1 })
  if (header.version > NEWEST_FORMAT_VERSION) {
    odd('unknown-version', `Format version ${header.version} is read by shape; nothing is known about its rules`)
  }
  // JSON.parse gives own properties only.
  for (const key in row) {
    if (KNOWN_KEYS.has(key)) continue
    if (RETIRED_KEYS.has(key)) odd('retired-key', `The header has the retired key ${key}`)
    else odd('extra-key', `The header has an unknown key ${JSON.stringify(briefText(key))}`)
  }
  for (const key of wrong) odd('header-field', `The header has a wrong ${key}`)
  if (row.delegationDepth === undefined) odd('header-field', 'The header has no delegationDepth')
  if (header.cwd !== undefined && !isAbsolutePath(header.cwd))
    odd('header-field', 'The header cwd is not an absolute path')
  if (header.origin !== undefined && header.origin !== 'subagent')
    odd('header-field', 'The header has an unknown origin')
  const foreign = foreignKeyOf(header.version)
  if (row[foreign] !== undefined)
    odd('extra-key', `The header has ${foreign}, which format version ${header.version} does not`)
  if (header.version >= 2 && row.isSeeded === undefined) odd('header-field', 'The header has no isSeeded')
  return issues.length === 0 ? issues : new IssueLog(issues).list(undefined)
}

/** Absolute on either family of systems: the log may come from another machine. */
function isAbsolutePath(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path)
}
