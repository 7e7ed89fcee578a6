// Completion in real shells: keys typed into a terminal, and the arguments that a command gets in the end.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quoted, wordsOfLine } from '../../src/cli/shell-words.ts'
import { encodeSessionUri } from '../../src/reference/uri.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { PROGRAM, run } from '../support/program.ts'
import { isInstalled, openTerminal, type Terminal } from '../support/terminal.ts'

const BREAKS = ' \t\n"\'@><=;|&(:'

const ODD_ID = `odd 'id' "$HOME" \`x\` & #1; (a|b) *?[c] \\ ~ !`
const NEWLINE_ID = 'new\nline'

const home = makeHome()
let temporary: string
let environment: Record<string, string>

beforeAll(() => {
  if (!existsSync(new URL('../../dist/bundle/main.js', import.meta.url))) {
    throw new Error('dist/bundle/main.js is missing: run "npm run build" before these tests')
  }
  home.write(chatLog('login-fix', [{ title: 'Fix the login redirect' }, { user: 'x' }]))
  home.write(chatLog('check-one', [{ title: 'Checkout tests' }, { user: 'x' }]))
  home.write(chatLog('check-two', [{ title: 'Checkout docs' }, { user: 'x' }]))
  home.write(chatLog(ODD_ID, [{ title: 'Odd one' }, { user: 'x' }]))
  home.write(chatLog('a:b=c', [{ user: 'x' }]))
  home.write(chatLog('-dash', [{ title: 'Like an option' }, { user: 'x' }]))
  home.write(chatLog(NEWLINE_ID, [{ title: 'Two lines' }, { user: 'x' }]))
  temporary = mkdtempSync(join(tmpdir(), 'dsh-ref-completion-'))
  const bin = join(temporary, 'bin')
  mkdirSync(bin)
  // In the place of dsh-ref: completion is real, everything else writes down its arguments.
  writeFileSync(
    join(bin, 'dsh-ref'),
    `#!/bin/sh
case "$1" in __complete | completion) exec '${process.execPath}' '${PROGRAM}' "$@" ;; esac
for each in "$@"; do printf '%s\\0' "$each"; done > '${temporary}/arguments.part'
mv '${temporary}/arguments.part' '${temporary}/arguments'
`,
    { mode: 0o755 },
  )
  environment = {
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    HOME: temporary,
    XDG_CACHE_HOME: join(temporary, 'cache'),
    XDG_CONFIG_HOME: join(temporary, 'config'),
    DSH_REF_ROOT: home.root,
    DSH_REF_CACHE_DIR: '',
    HISTFILE: '',
  }
})

afterAll(() => {
  home.remove()
  rmSync(temporary, { recursive: true, force: true })
})

async function ask(...args: string[]): Promise<string[]> {
  const { stdout } = await run(['__complete', ...args], { env: environment, cwd: temporary })
  return stdout.replace(/\n$/, '').split('\n')
}

const valuesOf = ([, ...lines]: string[]) => lines.map((line) => line.split('\t')[0])

describe('__complete', () => {
  test('offers commands, subcommands, topics, options and their values', async () => {
    expect(valuesOf(await ask('fish', 'dsh-ref', 'tr'))).toEqual(['transcript'])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'uri', ''))).toEqual(['encode', 'decode', 'mention', 'parse'])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'help', 'd'))).toEqual(['damaged-logs'])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'surface', '--fo'))).toEqual(['--format'])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'surface', '--format', ''))).toEqual(['table', 'json'])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'prepare', '--format=js'))).toEqual([
      '--format=json',
      '--format=jsonl',
    ])
  })

  test('offers an option once, and one that is repeatable again', async () => {
    const after = valuesOf(await ask('fish', 'dsh-ref', 'prepare', '--ref', 'x', '--target=y', '--'))
    expect(after).toContain('--ref')
    expect(after).not.toContain('--target')
  })

  test('asks for files and directories where they are meant', async () => {
    expect(await ask('fish', 'dsh-ref', 'prepare', '--output', '')).toEqual(['files'])
    expect(await ask('fish', 'dsh-ref', 'list', '--root', '')).toEqual(['directories'])
    expect(await ask('fish', 'dsh-ref', 'surface', './')).toEqual(['files'])
  })

  test('offers sessions by id with title and age, and by title when no id begins so', async () => {
    expect(await ask('fish', 'dsh-ref', 'surface', 'log')).toEqual([
      'none',
      expect.stringMatching(/^login-fix\tFix the login redirect, \d+ d ago$/),
    ])
    expect(await ask('fish', 'dsh-ref', 'prepare', '--ref', 'REDIR')).toEqual([
      'titles',
      expect.stringMatching(/^login-fix\t/),
    ])
  })

  test('spells an id so that it is read as that id', async () => {
    expect(valuesOf(await ask('fish', 'dsh-ref', 'surface', 'Two lines'))).toEqual([encodeSessionUri(NEWLINE_ID)])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'surface', 'Like an'))).toEqual(['id:-dash'])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'surface', 'id:log'))).toEqual(['id:login-fix'])
    expect(valuesOf(await ask('fish', 'dsh-ref', 'surface', 'dsh-session:'))).toHaveLength(7)
    expect(valuesOf(await ask('fish', 'dsh-ref', 'uri', 'encode', 'Two lines'))).toEqual([])
  })

  test('knows a session that was made after the index', async () => {
    await ask('fish', 'dsh-ref', 'surface', '')
    const path = home.write(chatLog('later-session', [{ title: 'Later' }, { user: 'x' }]))
    expect(valuesOf(await ask('fish', 'dsh-ref', 'surface', 'later'))).toEqual(['later-session'])
    rmSync(join(path, '..'), { recursive: true })
    expect(await ask('fish', 'dsh-ref', 'surface', 'later')).toEqual(['files'])
  })

  test('takes the roots of the line it completes', async () => {
    expect(await ask('fish', 'dsh-ref', 'surface', '--root', temporary, 'log')).toEqual(['files'])
    expect(valuesOf(await ask('fish', 'dsh-ref', `--root=${home.root}`, 'surface', 'log'))).toEqual(['login-fix'])
  })

  test('gives bash what stands behind the last break character', async () => {
    expect(await ask('bash', 'dsh-ref surface --format=ta', BREAKS, '9')).toEqual(['none', 'table'])
    expect(await ask('bash', 'dsh-ref surface a:b', BREAKS, '9')).toEqual(['none', 'b=c'])
    expect(await ask('bash', 'dsh-ref surface check', BREAKS, '9')).toEqual([
      'none',
      expect.stringMatching(/^check-one {2}\(Checkout tests, \d+ d ago\)$/),
      expect.stringMatching(/^check-two {2}\(/),
    ])
    expect(await ask('bash', 'dsh-ref surface check', BREAKS, '37')).toEqual(['none', 'check-one', 'check-two'])
  })
})

describe('words of bash', () => {
  test.each([
    ['a b', ['a', 'b']],
    ['a ', ['a', '']],
    [`a 'b "c' "d 'e" f\\ g`, ['a', 'b "c', "d 'e", 'f g']],
    [`a "\\$x \\y`, ['a', '$x \\y']],
    [`a ''`, ['a', '']],
  ])('%j are %j', (line, expected) => {
    expect(wordsOfLine(line, BREAKS).map(({ value }) => value)).toEqual(expected)
  })

  test('that are quoted read back as they were, in every quote', () => {
    const printable = fc.string({ unit: fc.constantFrom(...` !"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~aé书`) })
    fc.assert(
      fc.property(
        printable.filter((text) => text !== ''),
        fc.constantFrom('', "'", '"'),
        (text, quote) => {
          const [word] = wordsOfLine(`${quote}${quoted(text, quote)}${quote}`, BREAKS)
          expect(word?.value).toBe(text)
        },
      ),
    )
  })
})

interface Shell {
  readonly command: string
  /** Whether a part of a title is replaced by the id; fish shows titles but drops what the word does not begin. */
  readonly findsTitles: boolean
}

const SHELLS: Readonly<Record<string, Shell>> = {
  bash: {
    command: `bash --norc --noprofile -i`,
    findsTitles: true,
  },
  zsh: { command: 'zsh -f -i', findsTitles: true },
  fish: { command: 'fish --no-config --private', findsTitles: false },
}

const START: Readonly<Record<string, string>> = {
  bash: `PS1='ready> '; eval "$(dsh-ref completion bash)"`,
  zsh: `PS1='ready> '; autoload -Uz compinit; compinit -u -D; eval "$(dsh-ref completion zsh)"`,
  fish: `function fish_prompt; echo -n 'ready> '; end; function fish_right_prompt; end; dsh-ref completion fish | source`,
}

describe.each(Object.entries(SHELLS))('%s', (name, shell) => {
  const missing = ['tmux', name].filter((program) => !isInstalled(program))

  test('completes commands, options, values and sessions', async ({ skip }) => {
    if (missing.length > 0) skip(`${missing.join(' and ')} not installed; apt-get install ${missing.join(' ')}`)
    const terminal = await openTerminal(shell.command, environment)
    try {
      await terminal.type(START[name] as string)
      await terminal.press('Enter')
      await terminal.waitFor(/^ready> *$/m)
      expect(await terminal.screen()).not.toContain('not found')
      await check(terminal, ['dsh-ref surf', 'surface'], ['surface'])
      await check(terminal, ['dsh-ref surface --form', '--format ', 'js', 'json'], ['surface', '--format', 'json'])
      await check(terminal, ['dsh-ref surface --format=js', 'json'], ['surface', '--format=json'])
      await check(terminal, ['dsh-ref surface log', 'login-fix'], ['surface', 'login-fix'])
      await check(terminal, ['dsh-ref surface odd', 'HOME'], ['surface', ODD_ID])
      await check(terminal, ['dsh-ref surface a:b', 'a:b=c'], ['surface', 'a:b=c'])
      await check(terminal, [`dsh-ref surface 'odd`, 'HOME'], ['surface', ODD_ID])
      await check(terminal, [`dsh-ref surface "odd`, 'HOME'], ['surface', ODD_ID])
      if (shell.findsTitles) {
        await check(terminal, ['dsh-ref surface redir', 'login-fix'], ['surface', 'login-fix'])
        await check(terminal, ['dsh-ref surface lines', 'dsh-session:'], ['surface', encodeSessionUri(NEWLINE_ID)])
      }
      await terminal.type('dsh-ref surface check')
      await terminal.press('Tab')
      await terminal.waitFor('check-')
      // bash lists at the second Tab that changes nothing.
      await terminal.press('Tab')
      if (name === 'bash') await terminal.press('Tab')
      const screen = await terminal.waitFor('Checkout docs')
      expect(screen).toContain('Checkout tests')
    } finally {
      await terminal.close()
    }
  })

  /** Types text and Tab in turns, each until the screen shows what follows; then runs the line. */
  async function check(terminal: Terminal, steps: readonly string[], expected: readonly string[]): Promise<void> {
    const file = join(temporary, 'arguments')
    rmSync(file, { force: true })
    await terminal.press('C-l')
    for (let step = 0; step < steps.length; step += 2) {
      await terminal.type(steps[step] as string)
      await terminal.waitFor(steps[step]?.trim() as string)
      await terminal.press('Tab')
      await terminal.waitFor(new RegExp(`^ready> .*${steps[step + 1]?.trimEnd()}`, 'm'))
    }
    await terminal.press('Enter')
    for (let waited = 0; !existsSync(file) && waited < 100; waited++) await setTimeout(100)
    if (!existsSync(file)) throw new Error(`Nothing ran; the screen shows:\n${await terminal.screen()}`)
    expect(readFileSync(file, 'utf8').split('\0').slice(0, -1)).toEqual(expected)
  }
})
