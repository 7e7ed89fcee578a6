// The program: which commands there are, what they take, and what their end means for the exit status. A command's module
// is loaded when it runs, so that start-up costs what Node costs; print.ts does all writing.
import { Command, CommanderError, Option } from 'commander'
import { cancelled, DshRefError, EXIT_STATUS, invalidConfig } from '../errors.ts'
import { FORMAT_VERSIONS } from '../types.ts'
import {
  type CommandBody,
  type ErrorFormat,
  type GlobalOptions,
  OutputClosed,
  openContext,
  printBug,
  printRefusal,
  printText,
  setExitStatus,
} from './print.ts'

/** The same as in package.json; a test compares them. */
const VERSION = '0.1.0'

/** Exit status of what is no refusal. */
const BUG_STATUS = 1
const USAGE_STATUS = 2
const SIGNAL_STATUS = { SIGINT: 130, SIGTERM: 143 } as const

/** How long a command may take to end after a signal, and how long the process may take once it has. */
const COMMAND_GRACE_MILLISECONDS = 1000
const PROCESS_GRACE_MILLISECONDS = 100

/** What commander wrote while it parsed: help and version, or help in the place of an error. */
interface CommanderText {
  out: string
  err: string
}

/** Builds the program; `run` is called with a command's module when its arguments are in order. */
function buildProgram(text: CommanderText, run: (body: CommandBody, command: Command) => Promise<void>): Command {
  const program = new Command('dsh-ref')
    .description('Carry what one coding-agent session worked out into another agent, a script or a CI job.')
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (chunk) => {
        text.out += chunk
      },
      writeErr: (chunk) => {
        text.err += chunk
      },
      outputError: () => undefined,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })

  /** Adds a command; `load` imports its module. */
  function add(parent: Command, usage: string, summary: string, load: () => Promise<CommandBody>): Command {
    const command = parent.command(usage).description(summary)
    return command.action(async () => run(await load(), command))
  }

  const uri = program.command('uri').description('Write and read session URIs and mentions.')
  const nullOption = () => new Option('-0, --null', 'records end with NUL, in and out, instead of a newline')
  const jsonOption = (shape: string) => new Option('--json', `JSON, one value a line: ${shape}`).conflicts('null')
  add(uri, 'encode [id...]', 'Write session ids as dsh-session: URIs.', async () => (await import('./uri.ts')).encode)
    .addOption(nullOption())
    .addOption(jsonOption('strings on standard input, strings out'))
    .addHelpText('after', example('dsh-ref uri encode 550e8400-e29b-41d4-a716-446655440000', URI_INPUT))
  add(uri, 'decode [uri...]', 'Print the session ids of URIs.', async () => (await import('./uri.ts')).decode)
    .addOption(nullOption())
    .addOption(jsonOption('strings on standard input, strings out'))
    .addHelpText('after', example('dsh-ref uri decode dsh-session:ImFiYyI', URI_INPUT))
  add(
    uri,
    'mention [id...]',
    'Write mentions, as they go into a message.',
    async () => (await import('./uri.ts')).mention,
  )
    .option('--label <text>', 'label of the one session given; without it the id is the label')
    .addOption(nullOption())
    .addOption(jsonOption('{sessionId, label?} on standard input, strings out'))
    .addHelpText('after', example('dsh-ref uri mention --label "Parser work" 550e8400-e29b-41d4', URI_INPUT))
  add(uri, 'parse [text...]', 'Find the references in messages.', async () => (await import('./uri.ts')).parse)
    .addOption(nullOption())
    .addOption(jsonOption('strings on standard input, {text, references} out'))
    .addHelpText('after', example('dsh-ref uri parse "go on from @[Notes](dsh-session:ImFiYyI)"', PARSE_INPUT))

  const prepare = add(
    program,
    'prepare [message]',
    'Print a message and a snapshot of the sessions it refers to.',
    async () => (await import('./prepare.ts')).prepare,
  )
    .optionsGroup('References:')
    .option('--target <session>', 'the session that receives; default: the one $DSH_SESSION_JSONL names')
    .option('--ref <session>', 'refer to this session as well (repeatable)', collect)
    .option('--max-references <n>', 'refuse more sessions than this (1 to 3)')
    .optionsGroup('Budget of each session:')
    .option('--max-reference-bytes <n>', 'bytes of its data; goes before everything else')
    .option('--context-window <tokens>', "the target's context window; default: what its log says")
    .option('--reference-context-fraction <n>', 'share of that window, 0 to 1 (default: 0.2)')
    .optionsGroup('Output:')
    .addOption(
      new Option('--format <format>', 'what to print (default: text)').choices([
        'text',
        'snapshot',
        'json',
        'jsonl',
        'chat',
      ]),
    )
    .option('--output <file>', 'write to this file, whole or not at all, readable by its owner only')
    .option('--spill-dir <dir>', SPILL_DIR)
    .addHelpText('after', PREPARE_HELP)
  addReadingOptions(prepare)

  const surface = add(
    program,
    'surface <session>',
    'Show the fold of one session: what the model sees now.',
    async () => (await import('./surface.ts')).surface,
  )
    .option('--at <seq>', 'fold the log only through this event')
    .addOption(new Option('--format <format>', 'what to print (default: table)').choices(['table', 'json']))
    .addHelpText('after', SURFACE_HELP)
  addReadingOptions(surface)

  const transcript = add(
    program,
    'transcript <session>',
    'Print everything one session said, without any budget.',
    async () => (await import('./transcript.ts')).transcript,
  )
    // Options behind "decode" and "grep" are theirs; before them they would do nothing.
    .enablePositionalOptions()
    .hook('preSubcommand', (self, subcommand) => {
      const stray = Object.keys(self.opts()).some((option) => option === 'format' || option === 'includeShadowed')
      if (stray) self.error(`Options of "transcript ${subcommand.name()}" stand behind its name`)
    })
    .addOption(
      new Option('--format <format>', 'what to print (default: spill)').choices(['spill', 'markdown', 'text', 'json']),
    )
    .option('--include-shadowed', 'add, marked as such, the messages that compaction replaced')
    .addHelpText('after', TRANSCRIPT_HELP)
  addReadingOptions(transcript)
  add(
    transcript,
    'decode [file]',
    'Print the exact message texts of a saved transcript.',
    async () => (await import('./transcript.ts')).decode,
  )
    .addOption(new Option('--format <format>', 'what to print (default: json)').choices(['json', 'text']))
    .option('--message <n>', 'only the message with this number; as text, exactly that and no more')
    .addHelpText('after', example('dsh-ref transcript decode --message 3 --format text saved.txt', DECODE_INPUT))
  const grep = add(
    transcript,
    'grep <pattern> [source...]',
    'Search saved transcripts and sessions.',
    async () => (await import('./transcript.ts')).grep,
  )
    .option('-F, --fixed-strings', 'the pattern is plain text')
    .option('-i, --ignore-case', 'ignore case')
    .option('-c, --count', 'print only how many lines match, for each source')
    .option('-C, --context <n>', 'print this many lines around each match')
    .addHelpText('after', example('dsh-ref transcript grep "retry\\s+limit" login-fix', GREP_INPUT))
  addReadingOptions(grep)

  const spill = program.command('spill').description('Look after the transcripts that prepare saved.')
  add(spill, 'list', 'List saved transcripts, oldest first.', async () => (await import('./spill.ts')).list)
    .addOption(new Option('--format <format>', 'what to print (default: table)').choices(['table', 'json']))
    .option('--spill-dir <dir>', SPILL_DIR)
  add(spill, 'prune', 'Remove old transcripts.', async () => (await import('./spill.ts')).prune)
    .option('--older-than <age>', 'remove what was saved longer ago: 12h, 7d, 4w (needed)')
    .option('-n, --dry-run', 'print what would be removed, and remove nothing')
    .addOption(new Option('--format <format>', 'what to print (default: table)').choices(['table', 'json']))
    .option('--spill-dir <dir>', SPILL_DIR)
    .addHelpText('after', example('dsh-ref spill prune --older-than 7d', PRUNE_NOTES))

  const check = add(
    program,
    'check [session...]',
    'Verify logs completely.',
    async () => (await import('./check.ts')).check,
  )
    .option('--all', 'check every session of the roots')
    .addOption(new Option('--format <format>', 'what to print (default: table)').choices(['table', 'json']))
    .addHelpText('after', CHECK_HELP)
  addReadingOptions(check)

  // Commander's own help command shows the general help for a name it does not know, and looks one level deep.
  const help = program.command('help [command...]').description('Show the help of a command.')
  help.action((names: string[]) => {
    let target = program
    for (const name of names) {
      const found = target.commands.find((command) => command.name() === name)
      // Parsing the unknown name refuses it, with a suggestion.
      if (found === undefined && target.commands.length > 0) target.parse([name], { from: 'user' })
      target = found ?? target
      complete(target)
    }
    target.help()
  })

  complete(program)
  return program
}

/** Gathers a repeatable option. */
function collect(value: string, values: string[] = []): string[] {
  return [...values, value]
}

/** Options of every command that reads whole logs. */
function addReadingOptions(command: Command): void {
  command
    .optionsGroup('Reading logs:')
    .option('--salvage', 'read the longest valid prefix of a corrupt log, and say so')
    .option('--allow-unknown-version', 'read a format version this build does not know by its shape')
    .option('--max-row-bytes <n>', 'refuse a longer row (default: 268435456)')
    .option('--max-log-bytes <n>', 'refuse a longer log, decompressed (default: 68719476736)')
    .option('--max-window-bytes <n>', 'refuse a larger zstd window (default: 134217728)')
}

const PREPARE_HELP = `
Examples:
  dsh-ref prepare --target my-session "Continue from @[Login fix](dsh-session:ImxvZ2luLWZpeCI)"
  echo "Review this." | dsh-ref prepare --ref login-fix --format chat
  dsh-ref prepare --ref login-fix --format snapshot --output context.md

The message is the argument, or standard input ("-", or piped). A session is a
dsh-session: URI, a mention, a path, "-" (a log on standard input), an id, or the
beginning of one (6 characters or more). All or nothing: when one session cannot
be read, nothing is printed.`

const CHECK_HELP = `
Examples:
  dsh-ref check login-fix
  dsh-ref check --all
  dsh-ref check --all --format json | jq '.logs[] | select(.status != "ok")'

Every row is parsed, every checksum, fold rule and message checked. One line a
log, one line a finding. Exit status 4 when a log is corrupt, unsupported or
unreadable, with --strict also when there is any issue.`

const SURFACE_HELP = `
Examples:
  dsh-ref surface login-fix
  dsh-ref surface ./session.jsonl | jq .nodes
  zstd -dc session.v4.jsonl.zstd | dsh-ref surface -`

const SPILL_DIR = 'where full transcripts are saved, or "auto" (default: $DSH_REF_SPILL_DIR)'

const TRANSCRIPT_HELP = `
Examples:
  dsh-ref transcript login-fix
  dsh-ref transcript --format markdown --include-shadowed login-fix
  dsh-ref transcript id:decode

A session is named as for prepare --ref; "decode" and "grep" are subcommands.`

const DECODE_INPUT = `
Without a file, or with "-", the transcript is read from standard input.`

const GREP_INPUT = `
The pattern is a JavaScript regular expression; texts are searched whole, so that
a match may cross lines. Output is message:role:line, after the source when there
are several. A source is a saved transcript, a session (id: forces one) or "-",
standard input, which is also read without any. Status 1 when nothing is found.`

const PRUNE_NOTES = `
Only files that dsh-ref itself named are removed. Their paths are printed.`

const URI_INPUT = `
Without arguments, or with "-", records are read from standard input. Arguments
are plain text, with --json too. One bad record, and nothing is printed.`

const PARSE_INPUT = `
Each text gives one line of JSON, {text, references}. Without arguments, or with
"-", texts are read from standard input, one a line; a message of several lines
needs -0. Arguments are plain text, with --json too. One bad mention, and nothing
is printed.`

function example(line: string, notes: string): string {
  return `\nExample:\n  ${line}\n${notes}`
}

/**
 * Gives a command what all have: the common options, listed after its own, and refusals that know their command. Its
 * subcommands get theirs when they are called, since making options is a good part of start-up.
 */
function complete(command: Command): void {
  if (command.options.some(({ long }) => long === '--strict')) return
  command
    .hook('preSubcommand', (_, subcommand) => complete(subcommand))
    .exitOverride((error) => {
      throw error.exitCode === 0 || error.code === 'commander.help' ? error : usageError(command, error)
    })
    .helpCommand(false)
    .optionsGroup('Common options:')
    .helpOption('-h, --help', 'Show this help')
    .option('--root <dir>', 'read sessions under this directory (repeatable)', (dir, dirs: string[] = []) => [
      ...dirs,
      dir,
    ])
    .option('--strict', 'refuse what would be reported as an issue')
    .option('-q, --quiet', 'do not report issues on stderr')
    .addOption(new Option('--color <when>', 'colour in tables').choices(['auto', 'always', 'never']))
    .addOption(new Option('--error-format <format>', 'errors as text or as a line of JSON').choices(['text', 'json']))
    .version(
      `dsh-ref ${VERSION} (reads session formats ${inWords(FORMAT_VERSIONS)})`,
      '-V, --version',
      'Show the version',
    )
}

function inWords(items: readonly unknown[]): string {
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

function usageError(command: Command, { message }: CommanderError): DshRefError {
  const sentence = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
  return invalidConfig(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}; see "${fullName(command)} --help"`)
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`
}

/** The common options of a command, given before or after its name; the last one counts, roots add up. */
function globalOptions(command: Command): GlobalOptions {
  const levels: Command[] = []
  for (let level: Command | null = command; level !== null; level = level.parent) levels.unshift(level)
  const options = Object.assign({}, ...levels.map((level) => level.opts())) as Partial<GlobalOptions>
  return {
    root: levels.flatMap((level) => (level.opts().root as string[] | undefined) ?? []),
    strict: options.strict === true,
    quiet: options.quiet === true,
    color: options.color ?? 'auto',
  }
}

/** `--error-format`, looked up by hand: it also shapes the errors of parsing the command line. */
function errorFormatOf(argv: readonly string[]): ErrorFormat {
  const end = argv.indexOf('--')
  const options = end === -1 ? argv : argv.slice(0, end)
  const isJson = options.some(
    (option, index) =>
      option === '--error-format=json' || (option === '--error-format' && options[index + 1] === 'json'),
  )
  return isJson ? 'json' : 'text'
}

async function main(argv: readonly string[]): Promise<number> {
  const controller = new AbortController()
  let received: keyof typeof SIGNAL_STATUS | undefined
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // Once: the second signal ends the process.
    process.once(name, () => {
      received ??= name
      controller.abort()
      endBySignal(name, COMMAND_GRACE_MILLISECONDS)
    })
  }

  const errorFormat = errorFormatOf(argv)
  const text: CommanderText = { out: '', err: '' }
  let hasPrinted = () => false
  let status = 0
  const program = buildProgram(text, async (body, command) => {
    const context = openContext(globalOptions(command), controller.signal)
    hasPrinted = () => context.print.hasPrinted
    await body(context, command.args, command.opts())
    status = context.print.status
  })

  try {
    try {
      await program.parseAsync(argv, { from: 'user' })
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      if (error.exitCode === 0) await printText('stdout', text.out)
      else if (errorFormat === 'text') {
        await printText('stderr', text.err)
        return USAGE_STATUS
      } else throw invalidConfig('No command given; see "dsh-ref --help"')
    }
    return status
  } catch (error) {
    if (error instanceof OutputClosed) return 0
    const refusal = refusalOf(error, controller.signal, hasPrinted())
    if (refusal === undefined) {
      await printBug(error, errorFormat, `dsh-ref ${VERSION}`)
      return BUG_STATUS
    }
    await printRefusal(refusal, errorFormat)
    if (received === undefined) return EXIT_STATUS[refusal.code]
    endBySignal(received, PROCESS_GRACE_MILLISECONDS)
    return SIGNAL_STATUS[received]
  }
}

/**
 * Ends the process by the signal itself, which a shell shows as the same status, if it has not ended by itself by then:
 * a call that hangs in the file system (opening a FIFO) holds up even `process.exit`.
 */
function endBySignal(name: keyof typeof SIGNAL_STATUS, milliseconds: number): void {
  setTimeout(() => process.kill(process.pid, name), milliseconds).unref()
}

/** The refusal an error stands for; `undefined` for a bug. After a signal, whatever was under way counts as cancelled. */
function refusalOf(error: unknown, signal: AbortSignal, hasPrinted: boolean): DshRefError | undefined {
  const isRefusal = error instanceof DshRefError
  if (signal.aborted && (isRefusal || (error instanceof Error && error.name === 'AbortError'))) {
    return hasPrinted
      ? new DshRefError('SESSION_REFERENCE_CANCELLED', 'Cancelled; the output is not complete')
      : cancelled(error)
  }
  return isRefusal ? error : undefined
}

setExitStatus(await main(process.argv.slice(2)))
