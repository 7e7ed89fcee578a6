// Help, topics, man page and completion come from one table: each command is in all of them, and no example is wrong.
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import type { CommandSpec } from '../../src/cli/commands/spec.ts'
import { groupsOf, PROGRAM } from '../../src/cli/commands.ts'
import { renderHelp } from '../../src/cli/help.ts'
import { renderMan } from '../../src/cli/man.ts'
import { TOPICS } from '../../src/cli/topics.ts'
import { run } from '../support/program.ts'
import { isInstalled } from '../support/terminal.ts'

const paths: (readonly CommandSpec[])[] = []
const gather = (path: readonly CommandSpec[]) => {
  paths.push(path)
  for (const command of path.at(-1)?.commands ?? []) gather([...path, command])
}
gather([PROGRAM])

const commands = paths.map((path) => path.map(({ name }) => name).join(' '))
const helpOf = (name: string) => renderHelp(paths[commands.indexOf(name)] as readonly CommandSpec[], 80)

describe('help', () => {
  test.each(commands)('of %s has a sentence, examples first, grouped options, statuses', (name) => {
    const help = helpOf(name)
    const order = ['Usage: ', 'Examples:', 'Common options:', 'Exit status:'].map((part) => help.indexOf(part))
    expect(order).toEqual([...order].sort((one, other) => one - other))
    expect(order).not.toContain(-1)
    const command = paths[commands.indexOf(name)]?.at(-1) as CommandSpec
    expect(command.summary).toMatch(/^[A-Z].*\.$/)
    for (const option of groupsOf(command).flatMap(({ options }) => options)) expect(help).toContain(option.flags)
  })

  test.each(commands)('of %s has the statuses and the environment of the commands below it', (name) => {
    const command = paths[commands.indexOf(name)]?.at(-1) as CommandSpec
    const help = helpOf(name)
    // Any command line can be mistyped.
    for (const { statuses = [], environment = [] } of [{ statuses: [2] }, command, ...(command.commands ?? [])]) {
      for (const status of statuses) expect(help).toMatch(new RegExp(`^  ${status}  `, 'm'))
      for (const variable of environment) expect(help).toMatch(new RegExp(`^  ${variable} `, 'm'))
    }
    // Whoever reads the configuration file says where it is looked for.
    expect(help.includes('\n  XDG_CONFIG_HOME ')).toBe(command.load !== undefined || command === PROGRAM)
  })

  test.each([40, 60, 80, 100])('fits a terminal of %i columns, but for commands to copy', (columns) => {
    for (const path of paths) {
      const examples = path.at(-1)?.examples ?? []
      const prose = renderHelp(path, columns)
        .split('\n')
        .filter((line) => !examples.includes(line.trim()) && !line.startsWith('Usage'))
      expect(prose.filter((line) => line.length > Math.max(columns, 46))).toEqual([])
    }
  })

  test('is what the program prints', async () => {
    expect((await run(['list', '--help'])).stdout).toBe(helpOf('dsh-ref list'))
    expect((await run(['help', 'transcript', 'grep'])).stdout).toBe(helpOf('dsh-ref transcript grep'))
  })

  test.each(TOPICS)('prints the topic $name', async ({ name, title }) => {
    const { stdout, status } = await run(['help', name])
    expect({ status, first: stdout.split('\n')[0] }).toEqual({ status: 0, first: title })
  })

  test('suggests a topic for one that is mistyped', async () => {
    const { stderr, status } = await run(['help', 'sesions'])
    expect(status).toBe(2)
    expect(stderr).toContain("Unknown command 'sesions' (Did you mean sessions?)")
  })
})

describe('examples', () => {
  const examples = paths.flatMap((path) => path.at(-1)?.examples ?? [])

  test.each(examples)('%s names options and commands that there are', (example) => {
    const [, line = ''] = /dsh-ref (.*?)(?: \||$)/.exec(example) ?? []
    const words = line.split(' ')
    let command = PROGRAM
    for (const word of words) command = command.commands?.find(({ name }) => name === word) ?? command
    const flags = new Set(groupsOf(command).flatMap(({ options }) => options.flatMap((o) => o.flags.split(/[ ,]+/))))
    for (const word of words) if (/^--?[a-z]/.test(word)) expect(flags).toContain(word)
  })
})

describe('the man page', () => {
  const page = renderMan('0.0.0')

  test('has every command, option and topic', () => {
    const text = page.replaceAll('\\-', '-')
    for (const name of commands.slice(1)) expect(text).toContain(`.SS ${name} [options]`)
    for (const { title } of TOPICS.slice(0, 2)) expect(text).toContain(`.SH ${title.toUpperCase()}`)
    for (const path of paths) {
      for (const { options } of path.at(-1)?.groups ?? []) {
        for (const { flags } of options) expect(text).toContain(`.B ${flags}`)
      }
    }
  })

  test('is set without a warning', async ({ skip }) => {
    if (!isInstalled('man')) skip('man is not installed; apt-get install man-db')
    const directory = await mkdtemp(join(tmpdir(), 'dsh-ref-man-'))
    try {
      const file = join(directory, 'dsh-ref.1')
      writeFileSync(file, page)
      const { stderr, stdout } = await execa('man', ['--warnings', '-E', 'UTF-8', '-l', file], {
        env: { MANWIDTH: '80' },
      })
      expect(stderr).toBe('')
      expect(stdout).toContain('dsh-ref prepare --ref login-fix "Do the same for the admin page."')
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})
