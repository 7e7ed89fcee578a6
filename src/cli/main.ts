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

/** How long a command may take to end after a signal. */
const GRACE_MILLISECONDS = 1000

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
    .helpCommand('help [command]', 'Show the help of a command')
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
    .addHelpText('after', examples(['dsh-ref uri encode 550e8400-e29b-41d4-a716-446655440000', URI_INPUT]))
  add(uri, 'decode [uri...]', 'Print the session ids of URIs.', async () => (await import('./uri.ts')).decode)
    .addOption(nullOption())
    .addOption(jsonOption('strings on standard input, strings out'))
    .addHelpText('after', examples(['dsh-ref uri decode dsh-session:ImFiYyI', URI_INPUT]))
  add(
    uri,
    'mention [id...]',
    'Write mentions, as they go into a message.',
    async () => (await import('./uri.ts')).mention,
  )
    .option('--label <text>', 'label of the one session given; without it the id is the label')
    .addOption(nullOption())
    .addOption(jsonOption('{sessionId, label?} on standard input, strings out'))
    .addHelpText('after', examples(['dsh-ref uri mention --label "Parser work" 550e8400-e29b-41d4', URI_INPUT]))
  add(uri, 'parse [text...]', 'Find the references in messages.', async () => (await import('./uri.ts')).parse)
    .addOption(nullOption())
    .addOption(jsonOption('strings on standard input, {text, references} out'))
    .addHelpText('after', examples(['dsh-ref uri parse "go on from @[Notes](dsh-session:ImFiYyI)"', PARSE_INPUT]))

  for (const command of withSubcommands(program)) complete(command)
  return program
}

const URI_INPUT = `
Without arguments, or with "-", records are read from standard input. Arguments
are plain text, with --json too. One bad record, and nothing is printed.`

const PARSE_INPUT = `
Each text gives one line of JSON, {text, references}. Without arguments, or with
"-", texts are read from standard input, one a line; a message of several lines
needs -0. Arguments are plain text, with --json too. One bad mention, and nothing
is printed.`

function examples(lines: readonly [string, string]): string {
  return `\nExample:\n  ${lines[0]}\n${lines[1]}`
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)]
}

/** Gives a command what all have: the common options, listed after its own, and refusals that know their command. */
function complete(command: Command): void {
  command
    .exitOverride((error) => {
      throw error.exitCode === 0 || error.code === 'commander.help' ? error : usageError(command, error)
    })
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
  let signalStatus: number | undefined
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // Once: the second signal ends the process. So does the timer, when something hangs that cannot be cancelled.
    process.once(name, () => {
      signalStatus ??= SIGNAL_STATUS[name]
      controller.abort()
      setTimeout(() => process.kill(process.pid, name), GRACE_MILLISECONDS).unref()
    })
  }

  const errorFormat = errorFormatOf(argv)
  const text: CommanderText = { out: '', err: '' }
  let hasPrinted = () => false
  const program = buildProgram(text, async (body, command) => {
    const context = openContext(globalOptions(command), controller.signal)
    hasPrinted = () => context.print.hasPrinted
    await body(context, command.args, command.opts())
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
    return 0
  } catch (error) {
    if (error instanceof OutputClosed) return 0
    const refusal = refusalOf(error, controller.signal, hasPrinted())
    if (refusal === undefined) {
      await printBug(error, errorFormat, `dsh-ref ${VERSION}`)
      return BUG_STATUS
    }
    await printRefusal(refusal, errorFormat)
    return refusal.code === 'SESSION_REFERENCE_CANCELLED' && signalStatus !== undefined
      ? signalStatus
      : EXIT_STATUS[refusal.code]
  }
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
