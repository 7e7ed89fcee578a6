// The shape of what `--format json` prints, as zod types. From them the JSON Schemas in the package are generated.

import * as z from 'zod'
import { type DshRefErrorCode, EXIT_STATUS, type ReadFailedReason } from './errors.ts'
import type { Candidate } from './list/candidates.ts'
import type { Plan } from './render/plan.ts'
import { SECRET_KINDS } from './secrets/kinds.ts'
import type { CheckedLog, Degraded, Issue, IssueKind, ReferenceMessage, Replacement, SessionHeader } from './types.ts'

const milliseconds = z.number().int().min(0)

const ISSUE_KINDS = [
  'torn-tail',
  'discarded-rows',
  'unknown-event-type',
  'unknown-version',
  'extra-key',
  'retired-key',
  'header-field',
  'envelope-field',
  'message-id',
  'invalid-utf8',
  'seed-marker',
  'path-mismatch',
  'encoding-mismatch',
  'duplicate-id',
  'stray-file',
  'dangling-link',
  'missing-root',
  'unreadable-entry',
  'legacy-flat-file',
  'unreadable-log',
  'unsupported-log',
  'corrupt-log',
  'empty-conversation',
  'spill-failed',
  'salvaged',
] as const satisfies readonly IssueKind[]

/** A defect that was survived. */
export const IssueSchema = z.strictObject({
  kind: z.enum(ISSUE_KINDS),
  message: z.string().describe('One plain sentence without its place'),
  file: z.string().exactOptional(),
  line: z.number().int().min(1).exactOptional().describe('Row number; the header is line 1'),
  frame: z.number().int().min(1).exactOptional().describe('zstd frame number; the header is frame 1'),
  seq: z.number().int().min(0).exactOptional(),
  sessionId: z.string().exactOptional(),
  count: z.number().int().min(1).exactOptional().describe('How many times it was met; absent for once'),
})

const RedactedSchema = z
  .strictObject({
    total: z.number().int().min(0),
    byKind: z.partialRecord(z.enum(SECRET_KINDS), z.number().int().min(1)),
  })
  .describe('How many secrets were masked, by kind; with --redact only, best effort')

/** A row of `dsh-ref list --format json`. */
export const CandidateSchema = z.strictObject({
  sessionId: z.string().describe('Exact, and any string at all'),
  label: z.string().describe('The latest title, else the id'),
  cwd: z.string().exactOptional(),
  sameWorkspace: z.boolean().describe('Whether the session worked in the directory of the target'),
  createdAt: milliseconds.exactOptional().describe('Epoch milliseconds; absent when the header cannot be read'),
  mention: z.string().describe('@[label](dsh-session:…)'),
  uri: z.string().regex(/^dsh-session:[A-Za-z0-9_-]+$/),
  path: z.string().describe('The log'),
  title: z.string().exactOptional().describe('Absent when there is none or the log cannot be read'),
  firstMessage: z
    .string()
    .exactOptional()
    .describe('The beginning of the first message of the user, as one line; absent when there is none'),
  formatVersion: z.number().int().min(0),
  origin: z.string().exactOptional(),
  parentSession: z.string().exactOptional(),
  updatedAt: z.number().int().exactOptional().describe('Time of the newest stored event, epoch milliseconds'),
  sizeBytes: z.number().int().min(0),
  health: z.enum(['ok', 'torn', 'corrupt', 'unsupported', 'unread']),
  archived: z.literal(true).exactOptional().describe('Present when the session is archived'),
  issues: z.array(IssueSchema),
  redacted: RedactedSchema.exactOptional(),
})

/** What `dsh-ref list --format json` prints; with `--fields` rows hold the fields that were picked and no others. */
export const ListSchema = z.array(CandidateSchema)

const MatchSchema = z.strictObject({
  seq: z.number().int().min(0).describe('Seq of the message; `surface --at` takes it'),
  role: z.enum(['user', 'assistant', 'tool']),
  checkpoint: z.boolean().describe('Whether a compaction left the message'),
  shadowedBySeq: z.number().int().min(0).exactOptional().describe('Seq of what took its place; absent on the surface'),
  line: z.number().int().min(1).describe('Number of the line in its message'),
  text: z.string().describe('The line, or 4096 characters of it around the first match'),
  ranges: z
    .array(z.tuple([z.number().int().min(0), z.number().int().min(1)]))
    .describe('What was looked for: UTF-16 offsets into text'),
  textOffset: z
    .number()
    .int()
    .min(0)
    .exactOptional()
    .describe('Where text begins in the line; absent when it is whole'),
})

/** What `dsh-ref search --format json` prints. */
export const SearchSchema = z.array(
  z.strictObject({
    ...CandidateSchema.shape,
    namedBy: z.array(z.enum(['title', 'id', 'cwd'])).describe('Names that hold any of the words'),
    matchingLines: z.number().int().min(0),
    matches: z.array(MatchSchema),
  }),
)

/** Rows with `--fields`. */
export const PickedListSchema = z.array(CandidateSchema.partial())

const seq = z.number().int().min(0)
const count = z.number().int().min(0)
const place = {
  line: z.number().int().min(1).exactOptional().describe('Row number; the header is line 1'),
  frame: z.number().int().min(1).exactOptional().describe('zstd frame number; the header is frame 1'),
}
const textBlocks = z.array(z.strictObject({ type: z.literal('text'), text: z.string() }))

const DegradedSchema = z.strictObject({
  reason: z.string(),
  throughSeq: seq.nullable().describe('Seq of the last event of the prefix; null when none stands'),
  ...place,
})

const facts = {
  sessionId: z.string(),
  label: z.string(),
  capturedFormatVersion: z.number().int().min(1).exactOptional().describe('Absent for version 0'),
  capturedThroughSeq: seq.nullable().describe('Null for a log without events'),
  compacted: z.boolean(),
  originalMessages: count,
  retainedMessages: count,
  omittedMessages: count,
  omittedBytes: count.describe('UTF-8 bytes of message text'),
  truncated: z.boolean(),
}

const ReferenceMessageSchema = z.strictObject({
  role: z.literal('user'),
  content: textBlocks,
  source: z.strictObject({
    kind: z.literal('session-reference'),
    form: z.literal('recall'),
    version: z.literal(1),
    references: z.array(z.strictObject({ ...facts, inputIndex: count })),
  }),
})

/** What `dsh-ref prepare --format json` prints: the shape of the reference service, which has no version of its own. */
export const PreparedSchema = z.strictObject({
  content: textBlocks,
  additionalContext: z.array(ReferenceMessageSchema),
  degraded: z
    .array(z.strictObject({ sessionId: z.string(), ...DegradedSchema.shape }))
    .exactOptional()
    .describe('Sources of which only a prefix could be read (--salvage)'),
  redacted: RedactedSchema.exactOptional(),
})

const size = z.strictObject({ bytes: count, estimatedTokens: count.describe('bytes / 4, an estimate') })

/** What `dsh-ref prepare --dry-run --format json` prints. */
export const PlanSchema = z.strictObject({
  schemaVersion: z.literal(1),
  sources: z.array(
    z.strictObject({
      ...facts,
      usedBytes: count,
      budgetBytes: count,
      estimatedTokens: count.describe('usedBytes / 4, an estimate'),
      turnsWithoutText: count
        .exactOptional()
        .describe('Turns of the user that are images or files only; absent for none'),
    }),
  ),
  message: size,
  snapshot: size,
  redacted: RedactedSchema.exactOptional(),
})

const HeaderSchema = z.strictObject({
  version: z.number().int().min(0),
  id: z.string(),
  createdAt: z.number(),
  cwd: z.string().exactOptional(),
  parentSession: z.string().exactOptional(),
  seedLength: count.exactOptional(),
  isSeeded: z.boolean().exactOptional(),
  origin: z.string().exactOptional(),
  delegationDepth: count.exactOptional(),
  agentPreset: z.string().exactOptional(),
})

const ReplacementSchema = z.strictObject({ seq, start: seq, end: seq, shadowedSeqs: z.array(seq) })

/** What `dsh-ref surface --format json` prints. */
export const SurfaceSchema = z.strictObject({
  schemaVersion: z.literal(1),
  header: HeaderSchema,
  formatVersion: z.number().int().min(0),
  capturedThroughSeq: seq.nullable(),
  nodes: z.array(seq).describe('Seqs on the surface, in its order'),
  replacements: z.array(ReplacementSchema),
  items: z.array(
    z.strictObject({
      seq,
      type: z.enum(['user/message', 'assistant/message', 'tool/result', 'system/message', 'developer/message']),
      role: z.enum(['user', 'assistant', 'tool', 'system', 'developer']),
      sourceKind: z.string(),
      projected: z.boolean().describe('Whether it is in a snapshot'),
      checkpoint: z.boolean(),
      textBytes: count,
    }),
  ),
  issues: z.array(IssueSchema),
  degraded: DegradedSchema.exactOptional(),
  redacted: RedactedSchema.exactOptional(),
})

const CheckedLogSchema = z.strictObject({
  path: z.string(),
  status: z.enum(['ok', 'issues', 'corrupt', 'unsupported', 'unreadable']),
  sessionId: z.string().nullable(),
  formatVersion: z.number().int().min(0).nullable(),
  events: count,
  rows: count,
  frames: count,
  findings: z.array(
    z.strictObject({
      severity: z.enum(['corrupt', 'unsupported', 'unreadable', 'issue', 'refused-by-dsh', 'note']),
      rule: z.string().describe('Stable name of the rule, kebab-case'),
      message: z.string(),
      file: z.string(),
      ...place,
      seq: seq.exactOptional(),
      expected: z.unknown().exactOptional(),
      actual: z.unknown().exactOptional(),
      count: z.number().int().min(1).exactOptional(),
      kind: z.string().exactOptional().describe('With rule secret: the kind of secret, as in docs/secrets.md'),
    }),
  ),
})

const CheckedPlaceSchema = CheckedLogSchema.pick({ path: true, status: true, findings: true })

/** What `dsh-ref check --format json` prints. */
export const CheckSchema = z.strictObject({
  schemaVersion: z.literal(1),
  logs: z.array(z.strictObject({ ...CheckedLogSchema.shape, refusedByDsh: z.boolean() })),
  places: z
    .array(z.strictObject({ ...CheckedPlaceSchema.shape, refusedByDsh: z.boolean() }))
    .describe('With --all: what is no log and odd all the same, such as a directory that cannot be read'),
  issues: z.array(IssueSchema).describe('The same places as issues'),
})

const REASONS = [
  'not-found',
  'ambiguous',
  'unreadable',
  'unsupported',
  'corrupt',
] as const satisfies readonly ReadFailedReason[]

/** An error with `--error-format json`, one line on stderr. Facts besides these depend on the code. */
export const ErrorSchema = z.strictObject({
  error: z.looseObject({
    code: z.enum([...(Object.keys(EXIT_STATUS) as DshRefErrorCode[]), 'BUG']),
    reason: z.enum(REASONS).exactOptional().describe('With SESSION_REFERENCE_READ_FAILED only'),
    message: z.string(),
  }),
})

// The types the library is written in and the published ones are the same, or this does not compile.
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : never) : never
type Mutable<Value> = unknown extends Value
  ? Value
  : Value extends string | number | boolean | null | undefined
    ? Value
    : { -readonly [Key in keyof Value]: Mutable<Value[Key]> }
const isSame: Same<Mutable<Candidate>, z.output<typeof CandidateSchema>> &
  Same<Mutable<Issue>, z.output<typeof IssueSchema>> &
  Same<Mutable<Degraded>, z.output<typeof DegradedSchema>> &
  Same<Mutable<ReferenceMessage>, z.output<typeof ReferenceMessageSchema>> &
  Same<Mutable<Plan>, z.output<typeof PlanSchema>> &
  Same<Mutable<SessionHeader>, z.output<typeof HeaderSchema>> &
  Same<Mutable<Replacement>, z.output<typeof ReplacementSchema>> &
  Same<Mutable<CheckedLog>, z.output<typeof CheckedLogSchema>> = true
void isSame

/** The JSON Schemas of the package by file name, as text. */
export function schemaFiles(): Readonly<Record<string, string>> {
  const schema = (title: string, type: z.ZodType) => `${JSON.stringify({ title, ...z.toJSONSchema(type) }, null, 2)}\n`
  return {
    'list.schema.json': schema('dsh-ref list --format json', ListSchema),
    'list-fields.schema.json': schema('dsh-ref list --format json --fields', PickedListSchema),
    'search.schema.json': schema('dsh-ref search --format json', SearchSchema),
    'prepare.schema.json': schema('dsh-ref prepare --format json', PreparedSchema),
    'prepare-dry-run.schema.json': schema('dsh-ref prepare --dry-run --format json', PlanSchema),
    'surface.schema.json': schema('dsh-ref surface --format json', SurfaceSchema),
    'check.schema.json': schema('dsh-ref check --format json', CheckSchema),
    'error.schema.json': schema('dsh-ref --error-format json', ErrorSchema),
  }
}
