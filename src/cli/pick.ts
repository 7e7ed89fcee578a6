// `dsh-ref pick`: up to three sessions chosen in the terminal, printed as mentions or handed to `prepare`. The screen is on
// stderr, so that the choice can go into a pipe; how it looks is render/pick.ts.

import { cancelled, DshRefError, invalidConfig, readFailed } from '../errors.ts'
import { type Candidate, type CandidateList, listCandidates } from '../list/candidates.ts'
import { whyNothing } from '../locate/nothing-found.ts'
import { MAX_REFERENCES } from '../prepare/references.ts'
import { project } from '../project/project.ts'
import { untitledName } from '../render/name.ts'
import { renderPick } from '../render/pick.ts'
import { holdsText } from '../text/folded-text.ts'
import { titleIndexOf } from './cache.ts'
import { integer, oneOf, optionsOf, text } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { type ReadingOptions, readingOptions, surfaceOf, targetOf } from './sessions.ts'
import type { Terminal } from './shell.ts'
import { hearSignals } from './signals.ts'

const CHOICES = ['mention', 'id', 'uri'] as const
const PREPARED = ['text', 'snapshot', 'json', 'jsonl', 'chat'] as const

/** Sessions offered; more cannot be looked through, and each costs the reading of its title once. */
const DEFAULT_LIMIT = 500

/** Newest messages shown of a session, and characters of each. */
const PREVIEW_MESSAGES = 4
const PREVIEW_CHARACTERS = 2000

/** How long the cursor rests before a log is read for its preview. */
const REST_MILLISECONDS = 120

/** Lets a person choose, and prints the choice. */
export const pick: CommandBody = async (context, [query], options) => {
  const given = optionsOf(options, {
    format: oneOf([...CHOICES, ...PREPARED]),
    target: text(),
    limit: integer({ min: 1 }),
  })
  const message = options.prepare as string | undefined
  const format = given.format ?? (message === undefined ? 'mention' : 'text')
  const isChoice = (CHOICES as readonly string[]).includes(format)
  if (isChoice && message !== undefined) {
    throw invalidConfig(`Option --prepare goes with --format ${PREPARED.join(', ')}, not with ${format}`, {
      option: '--format',
      value: format,
    })
  }
  const reading = readingOptions(context, options)
  const index = titleIndexOf(given.target, context, reading.roots)
  const terminal = context.terminal?.()
  if (!terminal) {
    throw invalidConfig(
      'pick needs a terminal to choose in, and there is none; use "dsh-ref list" and --ref in scripts, see "dsh-ref help sessions"',
    )
  }
  const { target, issues } = await targetOf(given.target, context, reading)
  const found = await listCandidates({
    ...reading,
    target,
    limit: given.limit ?? DEFAULT_LIMIT,
    index,
  })
  if (found.candidates.length === 0) {
    const why =
      whyNothing(reading.roots, found.readable, found.issues) ??
      `the only session in ${reading.roots.join(', ')} is the one that receives`
    throw readFailed('not-found', `There is no session to choose: ${why}`, { roots: reading.roots })
  }
  // The terminal is to be as it was, whatever ends the choice.
  const picked = await hearSignals(() => choose(found, query ?? '', terminal, context, reading))
  if (isChoice) {
    const shown = { mention: 'mention', id: 'sessionId', uri: 'uri' } as const
    const key = shown[format as (typeof CHOICES)[number]]
    const end = options.null === true ? '\0' : '\n'
    await context.print.out(picked.map((candidate) => candidate[key] + end).join(''))
    await context.print.issues(issues)
    return
  }
  const { prepare } = await import('./prepare.ts')
  const ref = picked.map(({ uri }) => uri)
  const { limit: _, null: __, prepare: ___, ...passed } = options
  await prepare(context, message === undefined ? [] : [message], { ...passed, format, ref })
}

const TOO_MANY = `At most ${MAX_REFERENCES} sessions fit in one message`

/** Shows the sessions until some are taken; refuses with `CANCELLED` when the person leaves. */
async function choose(
  { candidates, omitted }: Pick<CandidateList, 'candidates' | 'omitted'>,
  query: string,
  { input, output }: Terminal,
  context: CommandContext,
  reading: ReadingOptions,
): Promise<Candidate[]> {
  const { AutocompletePrompt, isCancel } = await import('@clack/core')
  const dim = context.stderr.hasColor ? new (await import('chalk')).Chalk({ level: 1 }).dim : undefined
  const byId = new Map(candidates.map((candidate) => [candidate.sessionId, candidate]))
  const previews = new Map<string, readonly { role: string; text: string }[]>()
  let rest: NodeJS.Timeout | undefined
  // The prompt draws itself anew when the terminal says that it has another size.
  const redraw = () => output.emit('resize')
  const preview = (id: string | undefined) => {
    clearTimeout(rest)
    const known = id === undefined ? [] : previews.get(id)
    if (known === undefined && id !== undefined) {
      rest = setTimeout(async () => {
        previews.set(id, await newest(byId.get(id) as Candidate, context, reading))
        redraw()
      }, REST_MILLISECONDS)
    }
    return known
  }
  const prompt = new AutocompletePrompt<{ value: string; label: string }>({
    options: candidates.map(({ sessionId, label, firstMessage = '', cwd = '' }) => ({
      value: sessionId,
      label: `${label} ${firstMessage} ${cwd} ${sessionId}`,
    })),
    multiple: true,
    initialUserInput: query,
    filter: (typed, { label }) => hasWords(label, typed),
    validate: (value) => (Array.isArray(value) && value.length > MAX_REFERENCES ? TOO_MANY : undefined),
    input,
    output,
    signal: context.signal,
    render() {
      if (this.state === 'submit' || this.state === 'cancel') return ''
      return renderPick({
        typed: this.userInputWithCursor,
        rows: this.filteredOptions.map(({ value }) => rowOf(byId.get(value) as Candidate)),
        cursor: this.cursor,
        picked: new Set(this.selectedValues),
        preview: preview(this.focusedValue),
        omitted,
        error: this.state === 'error' ? this.error : '',
        columns: output.columns ?? 80,
        dim,
      })
    },
  })
  const result = await prompt.prompt()
  clearTimeout(rest)
  if (isCancel(result)) throw cancelled()
  // Enter without any mark takes the session under the cursor.
  const ids = prompt.selectedValues.length > 0 ? prompt.selectedValues : [prompt.focusedValue]
  const taken = ids.flatMap((id) => (id === undefined ? [] : [byId.get(id) as Candidate]))
  if (taken.length === 0) throw readFailed('not-found', 'No session matches what was typed; nothing was taken')
  return taken
}

function rowOf(candidate: Candidate) {
  const { sessionId, label, cwd } = candidate
  const name = untitledName(candidate)
  return { sessionId, name: name ?? label, isTitle: name === undefined, cwd }
}

/** Whether every word of a query is somewhere in a text. */
function hasWords(label: string, typed: string): boolean {
  return typed.split(/\s+/).every((word) => holdsText(word)(label))
}

async function newest({ uri }: Candidate, context: CommandContext, reading: ReadingOptions) {
  try {
    const { messages } = await surfaceOf(uri, context, { ...reading, salvage: true })
    return project(messages)
      .messages.slice(-PREVIEW_MESSAGES)
      .map(({ role, text }) => ({ role, text: text.slice(-PREVIEW_CHARACTERS) }))
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    return [{ role: 'This log cannot be read', text: error.message }]
  }
}
