// The man page, from the same words as the help. Written when the package is built (assets.ts).

import { ANSWERED, COMMON } from './commands/common.ts'
import { ENVIRONMENT } from './commands/environment.ts'
import type { CommandSpec, OptionGroup, OptionSpec } from './commands/spec.ts'
import { STATUSES } from './commands/statuses.ts'
import { PROGRAM } from './commands.ts'
import { summaryOf, usageOf } from './help.ts'
import { TOPICS, type Topic } from './topics.ts'

/** The page; the same for the same version, without a date. */
export function renderMan(version: string): string {
  const own = PROGRAM.commands ?? []
  const lines = [
    `.TH DSH\\-REF 1 "" "dsh\\-ref ${escaped(version)}" "User Commands"`,
    '.SH NAME',
    `dsh\\-ref \\- ${escaped(PROGRAM.summary.replace(/^C/, 'c').replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    ...own.flatMap((command) => ['.br', `.B ${escaped(usageOf([PROGRAM, command]))}`]).slice(1),
    '.SH DESCRIPTION',
    ...(PROGRAM.notes ?? []).map(escaped),
    ...examples(PROGRAM),
    '.SH COMMANDS',
    ...own.flatMap((command) => section([PROGRAM, command])),
    '.SH COMMON OPTIONS',
    ...terms([...COMMON.options, ANSWERED.version, ANSWERED.help]),
    ...TOPICS.filter(({ name }) => name !== 'exit-status' && name !== 'environment').flatMap((topic) => [
      `.SH ${escaped(topic.title.toUpperCase())}`,
      ...topicLines(topic),
    ]),
    '.SH EXIT STATUS',
    ...Object.entries(STATUSES).flatMap(([status, meaning]) => term(status, meaning)),
    '.SH ENVIRONMENT',
    ...Object.entries(ENVIRONMENT).flatMap(([name, meaning]) => term(name, meaning)),
    '.SH FILES',
    ...term('~/.dsh/sessions', 'session logs, which are never changed'),
    ...term('~/.config/dsh-ref.json', 'configuration, when there is one'),
    ...term('~/.cache/dsh-ref/titles', 'titles that were read before; may be removed at any time'),
    ...term('~/.local/state/dsh-ref/spill', 'transcripts saved with "--spill-dir auto"'),
  ]
  return `${lines.join('\n')}\n`
}

function section(path: readonly CommandSpec[]): string[] {
  const command = path.at(-1) as CommandSpec
  return [
    `.SS ${escaped(usageOf(path))}`,
    escaped(command.summary),
    ...(command.notes ?? []).flatMap((note) => ['.PP', escaped(note)]),
    ...examples(command),
    ...(command.groups ?? []).flatMap(group),
    ...Object.entries(command.ownStatuses ?? {}).flatMap(([status, meaning]) => [
      '.PP',
      `Exit status ${status}: ${escaped(meaning)}.`,
    ]),
    ...(command.commands ?? []).flatMap((child) => section([...path, child])),
  ]
}

function group({ heading, options }: OptionGroup): string[] {
  return ['.PP', escaped(heading), ...terms(options)]
}

function terms(options: readonly OptionSpec[]): string[] {
  return options.flatMap((option) => term(option.flags, summaryOf(option)))
}

function term(name: string, text: string): string[] {
  return ['.TP', `.B ${escaped(name)}`, escaped(text)]
}

function examples({ examples = [] }: CommandSpec): string[] {
  if (examples.length === 0) return []
  return ['.PP', '.RS 4', '.nf', ...examples.map(escaped), '.fi', '.RE']
}

function topicLines({ paragraphs }: Topic): string[] {
  return paragraphs.flatMap((paragraph) =>
    typeof paragraph === 'string' ? ['.PP', escaped(paragraph)] : paragraph.flatMap(([name, text]) => term(name, text)),
  )
}

/** Text as roff sets it: a hyphen that can be copied, a backslash that is one, no line that looks like a request. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\(rs').replaceAll('-', '\\-').replaceAll('…', '...').replace(/^[.']/, '\\&$&')
}
