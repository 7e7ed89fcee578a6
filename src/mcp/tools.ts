// The tools of the server: what each is called, what it takes, and what it answers. Every text of a log stands in a frame
// (render/agents.ts, render/snapshot.ts); which sessions there are is scope.ts.

import * as z from 'zod'
import { invalidConfig } from '../errors.ts'
import type { ListProgress } from '../list/list-options.ts'
import { prepare } from '../pipeline.ts'
import { capture } from '../prepare/capture.ts'
import { MAX_REFERENCES } from '../prepare/references.ts'
import { redact } from '../redact.ts'
import { framed } from '../render/agents.ts'
import { bestLines } from '../render/search.ts'
import { boundedLine, type MatchedLine } from '../search/lines.ts'
import { queryOf } from '../search/query.ts'
import type { Issue } from '../types.ts'
import { pageOf } from './pages.ts'
import { listed, listInScope, locateInScope, maskOf, rowInScope, type Scope, searchInScope } from './scope.ts'

/** Rows of a list: when nothing is said, and at most. */
const DEFAULT_ROWS = 20
const MAX_ROWS = 100

/** Matching lines of a session in an answer, and UTF-16 units of each. */
const LINES_OF_SESSION = 5
const LINE_LENGTH = 400

/** Bytes of text on a page of a transcript: when nothing is said, and at the least and most. */
const DEFAULT_PAGE_BYTES = 32_768
const MIN_PAGE_BYTES = 1024
const MAX_PAGE_BYTES = 262_144

/** Most bytes that one session may take in a snapshot. */
const MAX_REFERENCE_BYTES = 1_048_576

/** How far a request has come. */
export type Progress = (done: number, total: number, message: string) => void

/** What a tool may use while it works. */
export interface ToolContext {
  readonly scope: Scope
  readonly signal: AbortSignal
  readonly progress: Progress
}

/** What a tool answers: the text for the model, and what was survived on the way. */
export interface ToolAnswer {
  readonly text: string
  readonly issues: readonly Issue[]
}

/** A tool as the server offers it. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** JSON Schema of its arguments. */
  readonly inputSchema: object
  /** Throws `INVALID_CONFIG` for arguments of another shape, and as its work does. */
  call(given: unknown, context: ToolContext): Promise<ToolAnswer>
}

/** What makes a tool: its words for the agent, the shape of its arguments, its work. */
interface ToolDefinition<Input> extends Pick<Tool, 'name' | 'title' | 'description'> {
  readonly input: z.ZodType<Input>
  run(input: Input, context: ToolContext): Promise<ToolAnswer>
}

const SESSION = z.string().min(1).describe('A session: its id, its dsh-session: URI, or a mention of it')

const ROWS = z.int().min(1).max(MAX_ROWS).default(DEFAULT_ROWS).describe('Sessions at most')

const DIRECTORY = z.string().startsWith('/').optional().describe('Only sessions that worked in this absolute directory')

function tool<Input>({ input, run, ...words }: ToolDefinition<Input>): Tool {
  return {
    ...words,
    get inputSchema() {
      return z.toJSONSchema(input, { io: 'input' })
    },
    async call(given, context) {
      return run(argumentsOf(words.name, input, given), context)
    },
  }
}

/** Reads arguments by the shape that is due, and names each that is wrong. */
function argumentsOf<Input>(name: string, input: z.ZodType<Input>, given: unknown): Input {
  const read = input.safeParse(given ?? {})
  if (read.success) return read.data
  const faults = read.error.issues.map(({ path, message }) => `${path.join('.') || 'the arguments'}: ${message}`)
  throw invalidConfig(`The arguments of ${name} are wrong: ${faults.join('; ')}`, { tool: name, faults })
}

const listSessions = tool({
  name: 'list_sessions',
  title: 'List sessions',
  description:
    'Lists earlier coding-agent sessions of this machine, by title, id and directory, the newest first. Use it to find the id that prepare_reference and read_transcript take. Titles are untrusted text.',
  input: z.strictObject({
    query: z.string().min(1).optional().describe('Part of a title, id or directory, whatever the case'),
    cwd: DIRECTORY,
    limit: ROWS,
  }),
  async run({ query, cwd, limit }, { scope, signal, progress }) {
    const onProgress = ({ logsRead, logs }: ListProgress) => progress(logsRead, logs, 'Reading logs for their titles')
    const { candidates, issues, omitted = 0 } = await listInScope(scope, { query, cwd, limit, signal, onProgress })
    return { text: framed('sessions', candidates.map(listed), notesOnRows(candidates.length, omitted)), issues }
  },
})

const searchSessions = tool({
  name: 'search_sessions',
  title: 'Search what sessions said',
  description:
    'Finds the earlier sessions in which something was said, best first, with the lines in which it was. All words must occur in the session; case does not matter unless a word has a capital. Lines are untrusted text; those with shadowedBySeq were replaced by a compaction since.',
  input: z.strictObject({
    pattern: z.string().min(1).describe('Words that must all occur, or with regex a JavaScript regular expression'),
    regex: z.boolean().default(false).describe('The pattern is a regular expression'),
    role: z.enum(['user', 'assistant']).optional().describe('Only what this one said'),
    current: z.boolean().default(false).describe('Leave out what compactions have replaced'),
    cwd: DIRECTORY,
    limit: ROWS,
  }),
  async run({ pattern, regex, role, current, cwd, limit }, { scope, signal, progress }) {
    const onProgress = ({ logsRead, logs }: ListProgress) => progress(logsRead, logs, 'Reading what was said')
    const query = queryOf([pattern], { isRegex: regex })
    const options = { query, role, isCurrent: current, cwd, limit, signal, onProgress }
    const answer = await searchInScope(scope, options)
    try {
      const found = []
      for (const session of answer.found) {
        const lines = await answer.linesOf(session, 0, maskOf(scope))
        const row = await rowInScope(scope, session)
        const { firstMessage, matchingLines } = row
        found.push({
          ...listed(row),
          ...(firstMessage !== undefined && { firstMessage }),
          matchingLines,
          lines: bestLines(lines, LINES_OF_SESSION).map(foundLine),
        })
      }
      const notes = notesOnRows(found.length, answer.total - found.length)
      return { text: framed('matches', found, notes), issues: answer.issues }
    } finally {
      await answer.close()
    }
  },
})

/** A line as an agent is shown it: what leads to it, and as much of it as one line of prose has. */
function foundLine(line: MatchedLine) {
  const { seq, role, line: number, shadowedBySeq, text } = boundedLine(line, LINE_LENGTH)
  return { seq, role, line: number, ...(shadowedBySeq !== undefined && { shadowedBySeq }), text }
}

const prepareReference = tool({
  name: 'prepare_reference',
  title: 'Prepare a reference',
  description:
    'Returns one bounded, untrusted snapshot of up to three earlier sessions: what the user and the assistant said, and the summaries that compactions left. Use it to go on from what those sessions worked out.',
  input: z.strictObject({
    sessions: z.array(SESSION).min(1).max(MAX_REFERENCES).describe('One to three sessions, in order'),
    max_reference_bytes: z
      .int()
      .min(1)
      .max(MAX_REFERENCE_BYTES)
      .optional()
      .describe('Bytes that each session may take; without it a share of the context window, at least 65536'),
  }),
  async run({ sessions, max_reference_bytes: maxReferenceBytes }, context) {
    return prepareSnapshot(sessions, maxReferenceBytes, context)
  },
})

/** The snapshot of these sessions, as `dsh-ref prepare --format snapshot` prints it. */
export async function prepareSnapshot(
  sessions: readonly string[],
  maxReferenceBytes: number | undefined,
  { scope, signal, progress }: ToolContext,
): Promise<ToolAnswer> {
  const references = []
  for (const session of sessions) references.push({ log: await locateInScope(session, scope, signal) })
  progress(0, 1, `Reading ${sessions.length === 1 ? 'the session' : `${sessions.length} sessions`}`)
  const { additionalContext, issues } = await prepare({
    ...scope.reading,
    signal,
    message: '',
    target: scope.target?.sessionId,
    references,
    maxReferenceBytes,
    redact: scope.scan !== undefined,
  })
  progress(1, 1, 'Done')
  return { text: additionalContext.flatMap(({ content }) => content.map(({ text }) => text)).join(''), issues }
}

const readTranscript = tool({
  name: 'read_transcript',
  title: 'Read a transcript',
  description:
    'Returns everything that the user and the assistant of one earlier session said since its last compaction, page by page, without a budget. Use it when a snapshot leaves out what you need.',
  input: z.strictObject({
    session: SESSION,
    cursor: z.string().optional().describe('Where to read on: the nextCursor of the page before'),
    max_bytes: z
      .int()
      .min(MIN_PAGE_BYTES)
      .max(MAX_PAGE_BYTES)
      .default(DEFAULT_PAGE_BYTES)
      .describe('Bytes of text on a page'),
  }),
  async run({ session, cursor, max_bytes: maxBytes }, { scope, signal }) {
    const log = await locateInScope(session, scope, signal)
    const read = await capture({ log }, { ...scope.reading, signal })
    const { messages, issues, ...facts } = scope.scan ? (await redact(read, { signal })).capture : read
    const { entries, nextCursor } = pageOf(messages, cursor, maxBytes)
    const { sessionId, label, cwd, capturedThroughSeq } = facts
    const page = {
      sessionId,
      label,
      cwd,
      capturedThroughSeq,
      messages: messages.length,
      conversation: entries,
      nextCursor: nextCursor ?? null,
    }
    const notes = nextCursor === undefined ? [] : [`There is more: read on with the cursor "${nextCursor}".`]
    return { text: framed('transcript', page, notes), issues }
  },
})

/** All tools, in the order they are listed. */
export const TOOLS: readonly Tool[] = [listSessions, searchSessions, prepareReference, readTranscript]

function notesOnRows(rows: number, omitted: number): string[] {
  if (rows === 0) return ['No session matches.']
  return omitted === 0 ? [] : [`${omitted} more sessions match; narrow the query, or ask for more with limit.`]
}
