// The shape of what `--format json` prints, as zod types. From them the JSON Schemas in the package are generated.

import * as z from 'zod'
import type { Candidate } from './candidates.ts'
import type { Issue, IssueKind } from './types.ts'

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
  'unreadable-entry',
  'legacy-flat-file',
  'unreadable-log',
  'unsupported-log',
  'corrupt-log',
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
  formatVersion: z.number().int().min(0),
  origin: z.string().exactOptional(),
  parentSession: z.string().exactOptional(),
  updatedAt: z.number().int().exactOptional().describe('Time of the newest stored event, epoch milliseconds'),
  sizeBytes: z.number().int().min(0),
  health: z.enum(['ok', 'torn', 'corrupt', 'unsupported', 'unread']),
  archived: z.literal(true).exactOptional().describe('Present when the session is archived'),
  issues: z.array(IssueSchema),
})

/** What `dsh-ref list --format json` prints; with `--fields` rows hold the fields that were picked and no others. */
export const ListSchema = z.array(CandidateSchema)

/** Rows with `--fields`. */
export const PickedListSchema = z.array(CandidateSchema.partial())

// The types the library is written in and the published ones are the same, or this does not compile.
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : never) : never
type Mutable<Value> = Value extends string | number | boolean | undefined
  ? Value
  : { -readonly [Key in keyof Value]: Mutable<Value[Key]> }
const isSame: Same<Mutable<Candidate>, z.output<typeof CandidateSchema>> &
  Same<Mutable<Issue>, z.output<typeof IssueSchema>> = true
void isSame

/** The JSON Schemas of the package by file name, as text. */
export function schemaFiles(): Readonly<Record<string, string>> {
  const schema = (title: string, type: z.ZodType) => `${JSON.stringify({ title, ...z.toJSONSchema(type) }, null, 2)}\n`
  return {
    'list.schema.json': schema('dsh-ref list --format json', ListSchema),
    'list-fields.schema.json': schema('dsh-ref list --format json --fields', PickedListSchema),
  }
}
