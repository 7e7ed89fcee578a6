// `dsh-ref __complete`: answers the completion scripts of the shells (completion.ts): what may stand at the cursor, by the
// table of commands.ts. Which sessions is complete-sessions.ts.

import type { CommandSpec, Completed, OptionSpec } from './commands/spec.ts'
import { commandAt, groupsOf } from './commands.ts'
import { summaryOf } from './help.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { quoted, type ShellWord, wordsOfLine } from './shell-words.ts'
import { TOPICS } from './topics.ts'

/** What the shell adds by itself: nothing, or names of files. `titles`: nothing, and the typed text is part of a title. */
type Directive = 'none' | 'files' | 'directories' | 'titles'

/** What may stand at the cursor. */
interface Answer {
  readonly directive: Directive
  readonly items: readonly Item[]
}

interface Item {
  readonly value: string
  readonly about?: string
}

/** bash's values of $COMP_TYPE that put every match into the line, where no words about them belong. */
const MENU = new Set(['37', '42'])

/** Prints what may stand at the cursor: a directive, then a value a line. Says nothing about failures: nobody would see it. */
export const complete: CommandBody = async (context, [shell = '', ...rest]) => {
  if (shell === 'bash') {
    const [line = '', breaks = '', type = ''] = rest
    const words = wordsOfLine(line, breaks)
    const answer = await answerTo(
      words.map(({ value }) => value),
      context,
    )
    await context.print.out(forBash(answer, words.at(-1) as ShellWord, type))
    return
  }
  const { directive, items } = await answerTo(rest, context)
  const lines = items.map(({ value, about }) => (about === undefined ? value : `${value}\t${about}`))
  await context.print.out([directive, ...lines].map((line) => `${line}\n`).join(''))
}

/** Finds what may stand in the place of the last word. */
async function answerTo(words: readonly string[], context: CommandContext): Promise<Answer> {
  const word = words.at(-1) ?? ''
  const { path, option, argument, isBehindDashes, given } = placeOf(words.slice(1, -1))
  const command = path.at(-1) as CommandSpec
  const root = given.get('--root') ?? []
  const here = { ...context, globals: { ...context.globals, root } }
  if (option) return valuesOf(option.choices ?? option.takes, word, here)
  const assigned = isBehindDashes ? null : /^(--[a-z-]+)=(.*)$/s.exec(word)
  if (assigned) {
    const [, flag = '', value = ''] = assigned
    const found = optionsOfCommand(command).find((each) => longOf(each) === flag)
    const answer = await valuesOf(found?.choices ?? found?.takes, value, here)
    return { ...answer, items: answer.items.map((item) => ({ ...item, value: `${flag}=${item.value}` })) }
  }
  if (word.startsWith('-') && word !== '-' && !isBehindDashes) return optionNames(command, word, given)
  const commands = argument === 0 ? (command.commands ?? []) : []
  const names = matching(
    commands.map(({ name, summary }) => ({ value: name, about: summary })),
    word,
  )
  const { takes = [] } = command
  const taken = command.args === undefined ? undefined : takes[Math.min(argument, takes.length - 1)]
  const answer =
    taken === 'command' ? helpNames(words.slice(2, -1), word) : await valuesOf(taken, word, here, isRawId(path))
  const items = [...names, ...answer.items]
  const isNothing = items.length === 0 && answer.directive === 'none'
  return isNothing && word === '' ? optionNames(command, word, given) : { ...answer, items }
}

interface Place {
  readonly path: readonly CommandSpec[]
  /** The option whose value comes next. */
  readonly option: OptionSpec | undefined
  /** Arguments of the command so far. */
  readonly argument: number
  readonly isBehindDashes: boolean
  /** Options so far, by their long name, and their values. */
  readonly given: ReadonlyMap<string, readonly string[]>
}

function placeOf(words: readonly string[]): Place {
  let names: string[] = []
  let path = commandAt(names).path
  let option: OptionSpec | undefined
  let argument = 0
  let isBehindDashes = false
  const given = new Map<string, readonly string[]>()
  const note = (found: OptionSpec, value: string) =>
    given.set(longOf(found), [...(given.get(longOf(found)) ?? []), value])
  for (const word of words) {
    if (option) {
      note(option, word)
      option = undefined
    } else if (word === '--' && !isBehindDashes) isBehindDashes = true
    else if (word.startsWith('-') && word !== '-' && !isBehindDashes) {
      const [name = '', ...values] = word.split('=')
      const found = optionsOfCommand(path.at(-1) as CommandSpec).find(({ flags }) => flagsIn(flags).includes(name))
      if (found && !found.flags.includes('<')) note(found, '')
      else if (found && values.length > 0) note(found, values.join('='))
      else option = found
    } else {
      const deeper = argument === 0 ? commandAt([...names, word]) : undefined
      if (deeper && deeper.depth > names.length) {
        names = [...names, word]
        path = deeper.path
      } else argument++
    }
  }
  return { path, option, argument, isBehindDashes, given }
}

async function valuesOf(
  taken: Completed | undefined,
  word: string,
  context: CommandContext,
  isRaw = false,
): Promise<Answer> {
  if (taken === undefined || taken === 'command') return { directive: 'none', items: [] }
  if (taken === 'file') return { directive: 'files', items: [] }
  if (taken === 'directory') return { directive: 'directories', items: [] }
  if (taken !== 'session')
    return {
      directive: 'none',
      items: matching(
        taken.map((value) => ({ value })),
        word,
      ),
    }
  if (/^[./~]/.test(word) || word.startsWith('path:')) return { directive: 'files', items: [] }
  const { items, isByTitle } = await (await import('./complete-sessions.ts')).offerSessions(word, context, isRaw)
  if (items.length === 0 && !isRaw) return { directive: 'files', items: [] }
  return { directive: isByTitle ? 'titles' : 'none', items }
}

function optionNames(command: CommandSpec, word: string, given: Place['given']): Answer {
  const items = optionsOfCommand(command)
    .filter((option) => option.isRepeatable || !given.has(longOf(option)))
    .map((option) => ({ value: longOf(option), about: summaryOf(option) }))
  return { directive: 'none', items: matching(items, word) }
}

function helpNames(names: readonly string[], word: string): Answer {
  const { path, depth } = commandAt(names)
  if (depth < names.length) return { directive: 'none', items: [] }
  const commands = (path.at(-1)?.commands ?? []).map(({ name, summary }) => ({ value: name, about: summary }))
  const topics = names.length === 0 ? TOPICS.map(({ name, title }) => ({ value: name, about: title })) : []
  return { directive: 'none', items: matching([...commands, ...topics], word) }
}

/** `uri encode` and `uri mention` take ids as they are; everywhere else `id:` and URIs are understood. */
function isRawId(path: readonly CommandSpec[]): boolean {
  return path[1]?.name === 'uri'
}

function matching(items: readonly Item[], word: string): Item[] {
  return items.filter(({ value }) => value.startsWith(word))
}

function optionsOfCommand(command: CommandSpec): readonly OptionSpec[] {
  return groupsOf(command).flatMap(({ options }) => options)
}

function flagsIn(flags: string): string[] {
  return flags.split(/[ ,]+/).filter((flag) => flag.startsWith('-'))
}

function longOf({ flags }: OptionSpec): string {
  return flagsIn(flags).at(-1) as string
}

/**
 * The answer as bash takes it: text for the line itself, quoted as the word was begun, and without what stands before the
 * last break character, which bash keeps. Several matches carry words about them, which bash shows and never inserts, as it
 * inserts only what all have in common. Matches by title begin with a number, so that they have nothing in common.
 */
function forBash({ directive, items }: Answer, word: ShellWord, type: string): string {
  const kept = word.value.slice(0, word.kept)
  const fitting = items.filter(({ value }) => value.startsWith(kept))
  const hasWords = fitting.length > 1 && !MENU.has(type)
  const lines = fitting.map(({ value, about }, index) => {
    const text = quoted(value.slice(kept.length), word.quote)
    const number = directive === 'titles' && hasWords ? `${index + 1}) ` : ''
    return number + text + (hasWords && about !== undefined ? `  (${about})` : '')
  })
  return [directive === 'titles' ? 'none' : directive, ...lines].map((line) => `${line}\n`).join('')
}
