// The program: parses the command line by the table of commands.ts, runs a command, and says what its end means for the
// exit status. A command's module is loaded when it runs, so that start-up costs what Node costs. It knows of no process but
// what its shell (shell.ts) is; start.ts gives it the real one.
import { Command, CommanderError, Option } from 'commander'
import { cancelled, DshRefError, EXIT_STATUS, invalidConfig } from '../errors.ts'
import { FORMAT_VERSIONS } from '../types.ts'
import { VERSION } from '../version.ts'
import { ANSWERED, COMMON } from './commands/common.ts'
import type { CommandSpec, OptionSpec } from './commands/spec.ts'
import { commandAt, PROGRAM } from './commands.ts'
import { environmentWith, optionsWith, readConfig } from './config-file.ts'
import {
  type CommandBody,
  type CommandOptions,
  type ErrorFormat,
  type GlobalOptions,
  OutputClosed,
  openContext,
  printBug,
  printRefusal,
  printText,
  terminalColumns,
} from './print.ts'
import { secretRules } from './redact-option.ts'
import type { RunSecrets } from './secrets.ts'
import type { Shell } from './shell.ts'
import { interruption, receivedSignal, SIGNAL_STATUS } from './signals.ts'

/** Exit status of what is no refusal. */
const BUG_STATUS = 1
const USAGE_STATUS = 2

/** Commands for the shells and the build, outside the parsing, since their arguments are half-typed command lines. */
const INTERNAL: ReadonlyMap<string, () => Promise<CommandBody>> = new Map([
  ['__complete', async () => (await import('./complete.ts')).complete],
  ['__assets', async () => (await import('./assets.ts')).assets],
])

const NO_OPTIONS: GlobalOptions = { root: [], strict: false, quiet: true, color: 'never' }

/** What commander wrote while it parsed, and whose help was asked for. */
interface CommanderText {
  out: string
  err: string
  helpOf: { readonly path: readonly CommandSpec[]; readonly isError: boolean } | undefined
}

/** Builds the program; `run` is called with a command's module when its arguments are in order. */
function buildProgram(
  text: CommanderText,
  columns: () => number | undefined,
  run: (body: CommandBody, command: Command) => Promise<void>,
): Command {
  const program = new Command(PROGRAM.name).enablePositionalOptions().configureOutput({
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

  /**
   * Gives a command its options, subcommands and refusals. Subcommands get theirs when they are called, since making
   * options is a good part of start-up.
   */
  function define(command: Command, path: readonly CommandSpec[]): void {
    const spec = path.at(-1) as CommandSpec
    for (const child of spec.commands ?? []) addCommand(command, child)
    for (const { options } of [...(spec.groups ?? []), COMMON]) {
      for (const option of options) command.addOption(optionOf(option))
    }
    const hasVersion = command.options.some(({ long }) => long === '--version')
    command
      .hook('preSubcommand', (_, subcommand) => {
        // Options behind the name of a subcommand are its own; before it they would do nothing.
        const isCommon = (name: string) => program.options.some((option) => option.attributeName() === name)
        if (!Object.keys(command.opts()).every(isCommon))
          command.error(`Options of "${spec.name} ${subcommand.name()}" stand behind its name`)
        define(subcommand, commandAt([...path.slice(1).map(({ name }) => name), subcommand.name()]).path)
      })
      .exitOverride((error) => {
        throw error.exitCode === 0 || error.code === 'commander.help' ? error : usageError(command, error)
      })
      .helpCommand(false)
      .helpOption(ANSWERED.help.flags)
      .version(
        `dsh-ref ${VERSION} (reads session formats ${inWords(FORMAT_VERSIONS)})`,
        hasVersion ? '-V' : ANSWERED.version.flags,
      )
    // The help is rendered once it is known to be wanted (help.ts).
    command.helpInformation = (context) => {
      text.helpOf = { path, isError: context?.error === true }
      return ''
    }
  }

  function addCommand(parent: Command, { name, args = '', load, commands }: CommandSpec): void {
    const command = parent.command(`${name} ${args}`.trim())
    if (load) command.action(async () => run(await load(), command))
    else if (name === 'help') command.action(showHelp)
    if (load && commands) command.enablePositionalOptions()
  }

  // Commander's own help command shows the general help for a name it does not know, and looks one level deep.
  async function showHelp(names: readonly string[]): Promise<void> {
    const { path, depth } = commandAt(names)
    if (depth < names.length) {
      const { TOPICS } = await import('./topics.ts')
      const topic = names.length === 1 ? TOPICS.find(({ name }) => name === names[0]) : undefined
      if (topic) {
        text.out += (await import('./help.ts')).renderTopic(topic, columns())
        throw new CommanderError(0, 'commander.helpDisplayed', '')
      }
      let target = program
      for (const [index, { name }] of path.slice(1).entries()) {
        target = target.commands.find((command) => command.name() === name) as Command
        define(target, path.slice(0, index + 2))
      }
      if (target === program) for (const { name } of TOPICS) program.command(name)
      // Parsing the unknown name refuses it, with a suggestion. A command that has none below it shows its help.
      if (target.commands.length > 0) await target.parseAsync([names[depth] as string], { from: 'user' })
    }
    text.helpOf = { path, isError: false }
    throw new CommanderError(0, 'commander.helpDisplayed', '')
  }

  define(program, [PROGRAM])
  return program
}

function optionOf({ flags, summary, choices, isRepeatable, conflicts }: OptionSpec): Option {
  const option = new Option(flags, summary)
  if (choices) option.choices(choices)
  if (isRepeatable) option.argParser((value: string, values: readonly string[] = []) => [...values, value])
  return conflicts === undefined ? option : option.conflicts(conflicts)
}

function inWords(items: readonly unknown[]): string {
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

function usageError(command: Command, { message }: CommanderError): DshRefError {
  const sentence = message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '')
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

/** Runs the program in a shell with the arguments behind its name; gives its exit status. */
export async function runProgram(argv: readonly string[], shell: Shell): Promise<number> {
  const errorFormat = errorFormatOf(argv)
  const text: CommanderText = { out: '', err: '', helpOf: undefined }
  let hasPrinted = () => false
  let secrets: RunSecrets | undefined
  let status = 0
  const runBody = async (
    body: CommandBody,
    globals: GlobalOptions,
    args: readonly string[],
    options: CommandOptions,
    names: ReadonlySet<string>,
  ) => {
    const config = await readConfig(shell.env, () => shell.home())
    const configuredGlobals = { ...globals, configuredRoots: config.roots }
    const env = environmentWith(config, shell.env)
    const rules = secretRules(options, env)
    if (rules.redacts || rules.refuses) secrets = new (await import('./secrets.ts')).RunSecrets(rules)
    const context = openContext(shell, configuredGlobals, interruption, env, secrets)
    hasPrinted = () => context.print.hasPrinted
    const allOptions = optionsWith(config, options, names)
    try {
      await body(context, args, allOptions)
    } catch (error) {
      if (!(error instanceof DshRefError)) throw error
      const { advised } = await import('./advice.ts')
      throw advised(error, { optionNames: names, options: allOptions, isStrict: globals.strict })
    }
    status = context.print.status
  }
  const columns = () => terminalColumns(shell)
  const internal = INTERNAL.get(argv[0] ?? '')

  try {
    try {
      if (internal) await runBody(await internal(), NO_OPTIONS, argv.slice(1), {}, new Set())
      else {
        const program = buildProgram(text, columns, (body, command) =>
          runBody(
            body,
            globalOptions(command),
            command.args,
            command.opts(),
            new Set(command.options.map((option) => option.attributeName())),
          ),
        )
        await program.parseAsync(argv, { from: 'user' })
      }
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      if (text.helpOf) {
        const { path, isError } = text.helpOf
        text[isError ? 'err' : 'out'] += (await import('./help.ts')).renderHelp(path, columns())
      }
      if (error.exitCode === 0) await printText(shell, 'stdout', text.out)
      else if (errorFormat === 'text') {
        await printText(shell, 'stderr', text.err)
        return USAGE_STATUS
      } else throw invalidConfig('No command given; see "dsh-ref --help"')
    }
    return status
  } catch (error) {
    if (error instanceof OutputClosed) return 0
    const refusal = refusalOf(error, interruption, hasPrinted())
    if (refusal === undefined) {
      await printBug(shell, secrets ? secrets.maskedBug(error) : error, errorFormat, `dsh-ref ${VERSION}`)
      return BUG_STATUS
    }
    const told = (await import('./options.ts')).inOptions(refusal)
    await printRefusal(shell, secrets ? secrets.masked(told) : told, errorFormat)
    const received = receivedSignal()
    return received === undefined ? EXIT_STATUS[refusal.code] : SIGNAL_STATUS[received]
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
