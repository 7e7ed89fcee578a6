// `npm run test:docs`: runs every fenced `sh` block of the documents over a copy of the fixture home, as a person would, and
// the `run` of every step of a workflow. A `text` or `json` block right behind it is what it prints; a line `…` in it stands
// for any lines. With DOCS_UPDATE=1 the outputs are written anew.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isInstalled } from './support/terminal.ts'
import { type Shown, terminalSvg } from './support/terminal-svg.ts'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(REPOSITORY, 'docs')).map((name) => `docs/${name}`),
]
  .filter((name) => name.endsWith('.md') && existsSync(join(REPOSITORY, name)))
  .sort()

/** Programs that a block may use, and the package that has each. */
const PROGRAMS: Readonly<Record<string, string>> = { jq: 'jq', fzf: 'fzf', zstd: 'zstd' }

interface Block {
  readonly line: number
  readonly command: string
  readonly output: string | undefined
  /** Where the output stands in the document. */
  readonly outputAt: readonly [number, number] | undefined
}

/** The blocks of a document, in order. */
function blocksOf(document: string): Block[] {
  const fences = [...document.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((match) => ({
    language: match[1],
    body: match[2] as string,
    start: match.index,
    end: match.index + match[0].length,
  }))
  return fences.flatMap((fence, index) => {
    if (fence.language !== 'sh' && fence.language !== 'yaml') return []
    const next = fences[index + 1]
    const isOutput =
      next !== undefined &&
      (next.language === 'text' || next.language === 'json') &&
      document.slice(fence.end, next.start).trim() === ''
    const line = document.slice(0, fence.start).split('\n').length
    const bodyAt = isOutput ? next.start + 4 + (next.language as string).length : 0
    return {
      line,
      command: fence.language === 'yaml' ? commandOf(fence.body) : fence.body,
      output: isOutput ? next.body : undefined,
      outputAt: isOutput ? ([bodyAt, bodyAt + next.body.length] as const) : undefined,
    }
  })
}

/** What the steps of a workflow run, with their environment. */
function commandOf(steps: string): string {
  const indented = (key: string) =>
    [...steps.matchAll(new RegExp(`^  ${key}\\n((?:    .*\\n)+)`, 'gm'))].map(([, lines = '']) =>
      lines.replace(/^ {4}/gm, ''),
    )
  const variables = indented('env:')
    .join('')
    .replace(/^(\w+): (.*)$/gm, 'export $1="$2"')
    .replace(/\$\{\{ github\.workspace \}\}/g, () => '$GITHUB_WORKSPACE')
  return variables + indented('run: [|]').join('')
}

let home: string
let work: string
let env: Record<string, string>

beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-ref-docs-')))
  work = join(home, 'work')
  cpSync(join(REPOSITORY, 'fixtures/home/sessions'), join(home, '.dsh/sessions'), {
    recursive: true,
    preserveTimestamps: true,
  })
  const bin = join(home, 'bin')
  for (const directory of [work, bin]) mkdirSync(directory)
  const put = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  put('dsh-ref', `exec '${process.execPath}' '${join(REPOSITORY, 'bin/dsh-ref.js')}' "$@"`)
  // The package is not installed in this folder, and must not be looked for anywhere else.
  put('npx', 'exec "$@"')
  // Stands for the command line of an agent that reads its prompt from standard input.
  put('your-agent', 'cat > /dev/null; echo "(the agent answers here)"')
  env = {
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    HOME: home,
    GITHUB_WORKSPACE: join(home, '.dsh'),
    TZ: 'UTC',
    LC_ALL: 'C.UTF-8',
    // Without a terminal nobody can choose.
    FZF_DEFAULT_OPTS: '--filter=login',
  }
  for (const name of ['DSH_REF_ROOT', 'DSH_HOME', 'DSH_SESSION_JSONL', 'DSH_REF_SPILL_DIR', 'DSH_REF_CACHE_DIR'])
    env[name] = ''
  for (const name of ['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME']) env[name] = ''
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Runs a block as bash does in a script that stops at the first failure; both outputs, as a terminal shows them. */
async function run(command: string): Promise<{ status: number | undefined; output: string }> {
  const { exitCode, all } = await execa('bash', ['-euo', 'pipefail', '-c', command], {
    cwd: work,
    env,
    reject: false,
    all: true,
    stdin: 'ignore',
    stripFinalNewline: false,
  })
  return { status: exitCode, output: all.replaceAll(home, '/home/me') }
}

/** Whether an output is what a document shows, in which a line `…` stands for any lines. */
function isShown(output: string, shown: string): boolean {
  const pattern = shown
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\n)*?.*' : line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')))
    .join('\n')
  return new RegExp(`^${pattern}$`).test(output)
}

describe.each(DOCUMENTS)('%s', (name) => {
  const path = join(REPOSITORY, name)
  const blocks = blocksOf(readFileSync(path, 'utf8'))
  const updates: { at: readonly [number, number]; output: string }[] = []

  if (blocks.length === 0) test.skip('has no block to run', () => undefined)
  test.for(blocks)('line $line runs', async ({ command, output, outputAt }, { skip }) => {
    const missing = Object.keys(PROGRAMS).filter(
      (program) => new RegExp(`\\b${program}\\b`).test(command) && !isInstalled(program),
    )
    if (missing.length > 0) skip(`apt-get install ${missing.map((program) => PROGRAMS[program]).join(' ')}`)
    const result = await run(command)
    expect(result.status, result.output).toBe(0)
    if (output === undefined || outputAt === undefined || isShown(result.output, output)) return
    if (process.env.DOCS_UPDATE === '1') updates.push({ at: outputAt, output: result.output })
    else expect(result.output).toBe(output)
  })

  afterAll(() => {
    if (updates.length === 0) return
    let document = readFileSync(path, 'utf8')
    for (const { at, output } of updates.reverse()) {
      document = document.slice(0, at[0]) + output + document.slice(at[1])
    }
    writeFileSync(path, document)
  })
})

test('docs/demo.svg shows what is printed', async () => {
  const commands = [
    'dsh-ref list --quiet',
    'dsh-ref prepare --ref login-fix --dry-run',
    'dsh-ref prepare --ref login-fix "Do the same for the admin page."',
  ]
  const shown: Shown[] = []
  for (const command of commands) shown.push({ command, output: (await run(command)).output })
  const path = join(REPOSITORY, 'docs/demo.svg')
  if (process.env.DOCS_UPDATE === '1') writeFileSync(path, terminalSvg(shown))
  expect(readFileSync(path, 'utf8')).toBe(terminalSvg(shown))
})

test.each(DOCUMENTS)('%s names no file that is not there', (name) => {
  const document = readFileSync(join(REPOSITORY, name), 'utf8').replace(/^```.*?^```$/gms, '')
  const linked = [...document.matchAll(/\]\(([^):#]+)\)/g)].map(([, path = '']) => join(dirname(name), path))
  const named = [...document.matchAll(/\b(?:src|test|bench|docs)\/[\w./-]*\w/g)].map(([path]) => path)
  expect([...linked, ...named].filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([])
})

test('README.md has at most 200 lines', () => {
  expect(readFileSync(join(REPOSITORY, 'README.md'), 'utf8').split('\n').length - 1).toBeLessThanOrEqual(200)
})
