// The help as text, from commands.ts and topics.ts. Loaded only where help is asked for; printing is print.ts.

import { ENVIRONMENT } from './commands/environment.ts'
import type { CommandSpec, OptionSpec } from './commands/spec.ts'
import { environmentOf, groupsOf, statusesOf } from './commands.ts'
import type { Topic } from './topics.ts'

/** Lines are no longer than this, and no longer than the terminal is wide. */
const MAX_COLUMNS = 100
const MIN_COLUMNS = 40
const DEFAULT_COLUMNS = 80

/** A first column wider than this pushes its text to the next line. */
const MAX_TERM_COLUMNS = 34

/** The help of a command: how to call it, what it does, examples, options, statuses, environment. */
export function renderHelp(path: readonly CommandSpec[], columns: number | undefined): string {
  const width = widthOf(columns)
  const command = path.at(-1) as CommandSpec
  const own = command.commands ?? []
  const sections = [
    `Usage: ${usageOf(path)}`,
    wrap(command.summary, width).join('\n'),
    section('Examples:', command.examples ?? []),
    ...(command.notes ?? []).map((note) => wrap(note, width).join('\n')),
    rows(
      'Commands:',
      own.map((each) => [callOf(each), each.summary]),
      width,
    ),
    ...groupsOf(command).map(({ heading, options }) =>
      rows(
        heading,
        options.map((option) => [option.flags, summaryOf(option)]),
        width,
      ),
    ),
    rows(
      'Exit status:',
      statusesOf(command).map(([status, meaning]) => [String(status), meaning]),
      width,
    ),
    rows(
      'Environment:',
      environmentOf(command).map((name) => [name, ENVIRONMENT[name]]),
      width,
    ),
  ]
  return `${sections.filter((each) => each !== '').join('\n\n')}\n`
}

/** The text of a topic. */
export function renderTopic({ title, paragraphs }: Topic, columns: number | undefined): string {
  const width = widthOf(columns)
  const parts = paragraphs.map((paragraph) =>
    typeof paragraph === 'string' ? wrap(paragraph, width).join('\n') : rows('', paragraph, width),
  )
  return `${[title, ...parts].join('\n\n')}\n`
}

/** How a command is called. */
export function usageOf(path: readonly CommandSpec[]): string {
  const command = path.at(-1) as CommandSpec
  const names = path.map(({ name }) => name).join(' ')
  const rest = command.load || command.args ? [command.args ?? ''] : ['<command>']
  return [names, '[options]', ...rest].filter((part) => part !== '').join(' ')
}

/** What an option does, with the values there are. */
export function summaryOf({ summary, choices, isRepeatable }: OptionSpec): string {
  const [, text = '', ending = ''] = /^(.*?)( \(default: .*\))?$/.exec(summary) ?? []
  const repeatable = isRepeatable && !summary.includes('(repeatable)') ? ' (repeatable)' : ''
  return `${text}${choices ? `: ${choices.join(', ')}` : ''}${ending}${repeatable}`
}

function callOf({ name, args }: CommandSpec): string {
  return args === undefined ? name : `${name} ${args}`
}

function section(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [heading, ...lines.map((line) => `  ${line}`)].join('\n')
}

/** Two columns: a term, and its text beside it or below. */
function rows(heading: string, terms: readonly (readonly [string, string])[], width: number): string {
  if (terms.length === 0) return ''
  const termColumns = Math.min(MAX_TERM_COLUMNS, Math.max(...terms.map(([term]) => term.length)))
  const indent = ' '.repeat(termColumns + 4)
  const lines = terms.flatMap(([term, text]) => {
    const [first = '', ...more] = wrap(text, width - indent.length)
    const rest = more.map((line) => indent + line)
    return term.length > termColumns
      ? [`  ${term}`, indent + first, ...rest]
      : [`  ${term.padEnd(termColumns)}  ${first}`, ...rest]
  })
  return [...(heading === '' ? [] : [heading]), ...lines].join('\n')
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

function widthOf(columns = DEFAULT_COLUMNS): number {
  return Math.min(MAX_COLUMNS, Math.max(MIN_COLUMNS, columns))
}
