// The first row of a log (FORMAT.md section 2): version before shape, wrong types refuse, odd values are issues.

import * as z from 'zod'
import { readFailed } from '../errors.ts'
import { briefText } from '../json-bytes.ts'
import { type Issue, NEWEST_FORMAT_VERSION, type SessionHeader } from '../types.ts'
import { IssueLog } from './issues.ts'

const count = z.number().refine((value) => Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0), {
  error: 'expected a non-negative safe integer',
})

/** Fields that decide what the log is and where it stands: a wrong one refuses the log. */
const HeaderRow = z.looseObject({
  type: z.literal('session'),
  version: count,
  id: z.string(),
  createdAt: count,
  cwd: z.string().optional(),
})

/** Fields that change neither surface nor text: a wrong one is left out and reported. */
const SIDE_FIELDS = {
  parentSession: z.string(),
  seedLength: count,
  isSeeded: z.boolean(),
  origin: z.string(),
  delegationDepth: count,
  agentPreset: z.string(),
} as const

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
  const parsed = HeaderRow.safeParse(stored)
  if (!parsed.success) {
    const [problem] = parsed.error.issues
    const key = problem?.path.join('.') ?? ''
    throw readFailed(
      'corrupt',
      `The first row is not a session header: ${key ? `${key}: ` : ''}${problem?.message ?? 'wrong shape'}`,
      { rule: 'header', line: 1, key },
      { cause: parsed.error },
    )
  }
  return withSideFields(parsed.data)
}

function withSideFields(row: z.output<typeof HeaderRow>): DecodedHeader {
  const { version, id, createdAt, cwd } = row
  const fields: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [key, schema] of Object.entries(SIDE_FIELDS)) {
    if (row[key] === undefined || key === (version < 2 ? 'isSeeded' : 'seedLength')) continue
    if (schema.safeParse(row[key]).success) fields[key] = row[key]
    else wrong.push(key)
  }
  const header: SessionHeader = { version, id, createdAt, ...(cwd !== undefined && { cwd }), ...fields }
  return { header, issues: oddities(header, Object.keys(row), wrong) }
}

function versionOf(stored: unknown): number | undefined {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return undefined
  const { type, version } = stored as Record<string, unknown>
  return type === 'session' && Number.isSafeInteger(version) ? (version as number) : undefined
}

function oddities(header: SessionHeader, keys: readonly string[], wrong: readonly string[]): Issue[] {
  const issues = new IssueLog()
  const odd = (kind: Issue['kind'], message: string) => issues.add({ kind, message, line: 1 })
  if (header.version > NEWEST_FORMAT_VERSION) {
    odd('unknown-version', `Format version ${header.version} is read by shape; nothing is known about its rules`)
  }
  for (const key of keys) {
    if (RETIRED_KEYS.has(key)) odd('retired-key', `The header has the retired key ${key}`)
    else if (!Object.hasOwn(HeaderRow.shape, key) && !Object.hasOwn(SIDE_FIELDS, key))
      odd('extra-key', `The header has an unknown key ${JSON.stringify(briefText(key))}`)
  }
  for (const key of wrong) odd('header-field', `The header has a wrong ${key}`)
  if (!keys.includes('delegationDepth')) odd('header-field', 'The header has no delegationDepth')
  if (header.cwd !== undefined && !isAbsolutePath(header.cwd))
    odd('header-field', 'The header cwd is not an absolute path')
  if (header.origin !== undefined && header.origin !== 'subagent')
    odd('header-field', 'The header has an unknown origin')
  const foreign = header.version < 2 ? 'isSeeded' : 'seedLength'
  if (keys.includes(foreign))
    odd('extra-key', `The header has ${foreign}, which format version ${header.version} does not`)
  if (header.version >= 2 && !keys.includes('isSeeded')) odd('header-field', 'The header has no isSeeded')
  return issues.list(undefined)
}

/** Absolute on either family of systems: the log may come from another machine. */
function isAbsolutePath(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path)
}
