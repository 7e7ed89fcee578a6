// `dsh-ref pick`: up to three sessions chosen in the terminal, printed as mentions or handed to `prepare`. The screen is on
// stderr, so that the choice can go into a pipe; how it looks is render/pick.ts, the search for what was said
// pick-said.ts.

import { cancelled, DshRefError, invalidConfig, readFailed } from '../errors.ts'
import { type Candidate, type CandidateList, listCandidates } from '../list/candidates.ts'
import type { ListProgress } from '../list/list-options.ts'
import { whyNothing } from '../locate/nothing-found.ts'
import { MAX_REFERENCES } from '../prepare/references.ts'
import { project } from '../project/project.ts'
import { untitledName } from '../render/name.ts'
import { type PickScreen, renderPick } from '../render/pick.ts'
import type { FoundSession } from '../search/found.ts'
import { holdsText } from '../text/folded-text.ts'
import { titleIndexOf } from './cache.ts'
import { integer, oneOf, optionsOf, text } from './options.ts'
import type { Said, SaidOptions } from './pick-said.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { type ReadingOptions, readingOptions, redactedSurface, surfaceOf, targetOf } from './sessions.ts'
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
  const limit = given.limit ?? DEFAULT_LIMIT
  const found = await listCandidates({
    ...reading,
    target,
    limit,
    index,
  })
  if (found.candidates.length === 0) {
    const why =
      whyNothing(reading.roots, found.readable, found.issues) ??
      `the only session in ${reading.roots.join(', ')} is the one that receives`
    throw readFailed('not-found', `There is no session to choose: ${why}`, { roots: reading.roots })
  }
  // The terminal is to be as it was, whatever ends the choice.
  const offer: Offer = {
    candidates: context.secrets?.rows(found.candidates) ?? found.candidates,
    omitted: found.omitted,
    query: query ?? '',
    search: { ...reading, target, limit, targetGiven: given.target },
  }
  const picked = await hearSignals(() => choose(offer, terminal, context, reading))
  if (isChoice) {
    const ids = new Set(picked.map(({ sessionId }) => sessionId))
    const redacted = context.secrets?.foundIn(found.candidates.filter(({ sessionId }) => ids.has(sessionId)))
    context.secrets?.refuseIfFound(redacted)
    const shown = { mention: 'mention', id: 'sessionId', uri: 'uri' } as const
    const key = shown[format as (typeof CHOICES)[number]]
    const end = options.null === true ? '\0' : '\n'
    await context.print.out(picked.map((candidate) => candidate[key] + end).join(''))
    await context.print.issues(issues)
    return context.secrets?.tell(context.print, redacted)
  }
  const { prepare } = await import('./prepare.ts')
  const ref = picked.map(({ uri }) => uri)
  const { limit: _, null: __, prepare: ___, ...passed } = options
  await prepare(context, message === undefined ? [] : [message], { ...passed, format, ref })
}

const TOO_MANY = `At most ${MAX_REFERENCES} sessions fit in one message`

/** What is chosen from, and by what it can be searched. */
interface Offer extends Pick<CandidateList, 'candidates' | 'omitted'> {
  readonly query: string
  readonly search: Omit<SaidOptions, 'signal' | 'onProgress'>
}

/** Shows the sessions until some are taken; refuses with `CANCELLED` when the person leaves. */
async function choose(
  { candidates, omitted, query, search }: Offer,
  { input, output }: Terminal,
  context: CommandContext,
  reading: ReadingOptions,
): Promise<Candidate[]> {
  const { AutocompletePrompt, isCancel } = await import('@clack/core')
  const dim = context.stderr.hasColor ? new (await import('chalk')).Chalk({ level: 1 }).dim : undefined
  const byId = new Map(candidates.map((candidate) => [candidate.sessionId, candidate]))
  // The prompt draws itself anew when the terminal says that it has another size.
  const redraw = () => output.emit('resize')
  const columns = () => output.columns ?? 80
  const newestOf = new Previews((id) => newest(byId.get(id) as Candidate, context, reading), redraw)
  const said = new SaidMode(search, context, columns, redraw)
  const prompt = new AutocompletePrompt<{ value: string; label: string }>({
    options() {
      return (said.answerTo(this.userInput)?.found ?? candidates).map(optionOf)
    },
    multiple: true,
    initialUserInput: query,
    filter: (typed, { label }) => said.answerTo(typed) !== undefined || hasWords(label, typed),
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
        preview: said.answer ? [] : newestOf.get(this.focusedValue),
        said: said.shown(this.focusedValue),
        omitted,
        error: this.state === 'error' ? this.error : said.failure,
        columns: columns(),
        dim,
      })
    },
  })
  prompt.on('userInput', (typed) => said.leave(typed))
  prompt.on('key', async (_, { ctrl, name }) => {
    if (ctrl !== true || name !== 'f' || !(await said.enter(prompt.userInput))) return
    for (const session of said.answer?.found ?? []) byId.set(session.sessionId, byId.get(session.sessionId) ?? session)
    // The prompt chooses its options when it is told of another input, and begins with the first when it knows none of them.
    prompt.focusedValue = undefined
    prompt.emit('userInput', prompt.userInput + SEARCHED)
    redraw()
  })
  try {
    const result = await prompt.prompt()
    if (isCancel(result)) throw cancelled()
  } finally {
    newestOf.stop()
    await said.end()
  }
  // Enter without any mark takes the session under the cursor.
  const ids = prompt.selectedValues.length > 0 ? prompt.selectedValues : [prompt.focusedValue]
  const taken = ids.flatMap((id) => (id === undefined ? [] : [byId.get(id) as Candidate]))
  if (taken.length === 0) throw readFailed('not-found', 'No session matches what was typed; nothing was taken')
  return taken
}

/** What is read of a session once the cursor rests on it. */
class Previews<Preview> {
  readonly #read: (id: string) => Promise<Preview>
  readonly #redraw: () => void
  readonly #known = new Map<string, Preview>()
  #rest: NodeJS.Timeout | undefined

  constructor(read: (id: string) => Promise<Preview>, redraw: () => void) {
    this.#read = read
    this.#redraw = redraw
  }

  /** What is known of a session; `undefined` while it is read. */
  get(id: string | undefined): Preview | undefined {
    this.stop()
    const known = id === undefined ? undefined : this.#known.get(id)
    if (known === undefined && id !== undefined) {
      this.#rest = setTimeout(async () => {
        this.#known.set(id, await this.#read(id))
        this.#redraw()
      }, REST_MILLISECONDS)
    }
    return known
  }

  stop(): void {
    clearTimeout(this.#rest)
  }
}

/** Stands behind what is typed when only the options are others; nobody can type it. */
const SEARCHED = '\0'

/** The search for what was said: entered by a key, and left by typing on. */
class SaidMode {
  /** What was found for the words that stand there. */
  answer: Said | undefined
  failure = ''
  readonly #search: Offer['search']
  readonly #context: CommandContext
  readonly #columns: () => number
  readonly #redraw: () => void
  #lines: Previews<readonly string[]> | undefined
  #typed: string | undefined
  #progress = ''
  #running: AbortController | undefined

  constructor(search: Offer['search'], context: CommandContext, columns: () => number, redraw: () => void) {
    this.#search = search
    this.#context = context
    this.#columns = columns
    this.#redraw = redraw
  }

  /** What the screen says of it; `undefined` when nobody has asked. */
  shown(id: string | undefined): PickScreen['said'] {
    if (this.#running) return { progress: this.#progress }
    return this.answer && { lines: this.#lines?.get(id) }
  }

  /** Searches; resolves to whether there is an answer to be shown. */
  async enter(typed: string): Promise<boolean> {
    await this.end()
    this.#typed = typed
    if (typed.trim() === '') {
      this.failure = 'Type what was said, then press Ctrl-F'
      this.#redraw()
      return false
    }
    const running = new AbortController()
    this.#running = running
    this.#progress = 'Searching what was said …'
    this.#redraw()
    try {
      const { searchSaid } = await import('./pick-said.ts')
      const signal = AbortSignal.any([this.#context.signal, running.signal])
      const onProgress = ({ logsRead, logs }: ListProgress) => {
        const before = this.#progress
        this.#progress = `Searching what was said: ${Math.floor((100 * logsRead) / logs)} % of the logs`
        if (this.#progress !== before) this.#redraw()
      }
      const answer = await searchSaid(typed, { ...this.#search, signal, onProgress }, this.#context)
      if (running.signal.aborted) {
        await answer.close()
        return false
      }
      const byId = new Map(answer.found.map((session) => [session.sessionId, session]))
      this.answer = answer
      this.#lines = new Previews(
        (id) => answer.linesOf(byId.get(id) as FoundSession, Math.max(20, this.#columns() - 1)),
        this.#redraw,
      )
      return true
    } catch (error) {
      if (!(error instanceof DshRefError)) throw error
      // Ended by what was typed next, which is shown already.
      if (!running.signal.aborted) this.failure = error.message
      return false
    } finally {
      if (this.#running === running) this.#running = undefined
      this.#redraw()
    }
  }

  /** The answer to what is typed, if that is what was searched for. */
  answerTo(typed: string): Said | undefined {
    return this.#isFor(typed) ? this.answer : undefined
  }

  /** Goes back to titles, unless these words are the ones that were searched. */
  leave(typed: string): void {
    if (!this.#isFor(typed)) void this.end()
  }

  #isFor(typed: string): boolean {
    return typed === this.#typed || typed === `${this.#typed}${SEARCHED}`
  }

  async end(): Promise<void> {
    this.#running?.abort()
    this.#running = undefined
    this.#lines?.stop()
    this.#typed = undefined
    this.failure = ''
    const { answer } = this
    this.answer = undefined
    await answer?.close()
  }
}

function optionOf({ sessionId, label, firstMessage = '', cwd = '' }: Candidate) {
  return { value: sessionId, label: `${label} ${firstMessage} ${cwd} ${sessionId}` }
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
    const { messages } = await redactedSurface(await surfaceOf(uri, context, { ...reading, salvage: true }), context)
    return project(messages)
      .messages.slice(-PREVIEW_MESSAGES)
      .map(({ role, text }) => ({ role, text: text.slice(-PREVIEW_CHARACTERS) }))
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    return [{ role: 'This log cannot be read', text: context.secrets?.mask(error.message) ?? error.message }]
  }
}
