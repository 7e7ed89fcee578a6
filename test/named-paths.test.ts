// Every file that the documents for developers and users name is there: links, paths in tables and prose, and bare file names.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execaSync } from 'execa'
import { describe, expect, test } from 'vitest'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(REPOSITORY, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

const { stdout } = execaSync({ cwd: REPOSITORY })`git ls-files --cached --others --exclude-standard`
/** Names of all files of the repository, whatever folder they are in. */
const BASENAMES = new Set(stdout.split('\n').map((path) => basename(path)))

/** Documents of the format, which are no part of the repository. */
const ELSEWHERE = new Set(['FORMAT.md', 'DESIGN.md'])

/** What a document names: links from its own folder, paths from the top, and names without a folder. */
function namedIn(document: string): { links: string[]; paths: string[]; names: string[] } {
  // What a block shows is tried by test/docs.test.ts.
  const prose = document.replace(/^```.*?^```$/gms, '').replace(/^ {4}.*$/gm, '')
  const links = [...prose.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link)
  const words = prose.replace(/\]\([^)]*\)/g, ']').match(/[\w./-]*\w[\w./-]*/g) ?? []
  const paths = words.filter((word) => /^(src|test|bench|fixtures|docs|bin|skills)\/[\w./-]*[\w/]/.test(word))
  const names = words.filter((word) => /^[\w-]+(\.test)?\.(ts|md)$/.test(word) && !ELSEWHERE.has(word))
  return { links, paths: paths.map((path) => path.replace(/[.,]+$/, '')), names }
}

describe('documents name files that are there', () => {
  test('links, paths and names are all seen', () => {
    const document = 'See [a](../src/a.ts#x), [b](https://b.example/c.ts), src/d/e.ts, test/f/.\n`g.ts`; FORMAT.md.\n'
    expect(namedIn(document)).toEqual({ links: ['../src/a.ts'], paths: ['src/d/e.ts', 'test/f/'], names: ['g.ts'] })
  })

  test.each(DOCUMENTS)('%s', (name) => {
    const { links, paths, names } = namedIn(readFileSync(join(REPOSITORY, name), 'utf8'))
    const missing = [
      ...links.filter((link) => !existsSync(join(REPOSITORY, dirname(name), link))),
      ...paths.filter((path) => !existsSync(join(REPOSITORY, path))),
      ...names.filter((file) => !BASENAMES.has(file)),
    ]
    expect(missing).toEqual([])
  })

  test('those for developers name many', () => {
    const of = (name: string) => namedIn(readFileSync(join(REPOSITORY, name), 'utf8'))
    expect(of('CONTRIBUTING.md').paths.length).toBeGreaterThan(20)
    expect(of('docs/walkthrough.md').links.length).toBeGreaterThan(20)
  })
})
