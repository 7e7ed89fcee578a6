// Which secrets are found, and all of each: src/secrets/find.ts and the tables behind it.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of shells are what is tested
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findSecrets } from '../../src/secrets/find.ts'
import { SECRET_KINDS } from '../../src/secrets/kinds.ts'
import { placeholderOf } from '../../src/secrets/placeholder.ts'
import { redactText } from '../../src/secrets/redact.ts'
import { INVENTED_SECRETS, type InventedSecret, invented, keyLines } from '../support/invented-secrets.ts'

/** The texts a secret is put into. What is written in JSON twice has its quotes and newlines escaped. */
const PLACES: Readonly<Record<string, (shown: string) => string>> = {
  prose: (shown) => `Yesterday ${shown} stood in the log, and nobody saw it.`,
  'the middle of lines': (shown) => `First this:\n${shown}\nand then that.`,
  code: (shown) => `export function connect() {\n  return start(\`${shown}\`, { retries: 3 }) // at once\n}\n`,
  JSON: (shown) => JSON.stringify({ id: 7, note: shown, ok: true }),
  'a line of JSON': (shown) => JSON.stringify({ text: `first\n${shown}\nlast` }),
  'a terminal with colours': (shown) => `\u001b[32m${shown}\u001b[0m`,
}

const expected = ({ kind, shown }: InventedSecret) => shown(placeholderOf(kind))

describe.each(Object.entries(PLACES))('in %s', (_, place) => {
  test.each(INVENTED_SECRETS.map((row) => [row.name, row] as const))('%s is masked whole', (_name, row) => {
    const { text, counts } = redactText(place(row.shown(row.secret)))
    expect(text).toBe(place(expected(row)))
    expect(counts).toEqual({ [row.kind]: 1 })
  })
})

describe('the table of invented secrets', () => {
  test('has every kind', () => {
    expect([...new Set(INVENTED_SECRETS.map(({ kind }) => kind))].sort()).toEqual([...SECRET_KINDS].sort())
    expect(INVENTED_SECRETS.length).toBeGreaterThanOrEqual(60)
  })

  test('and docs/secrets.md have the same kinds', () => {
    const document = readFileSync(new URL('../../docs/secrets.md', import.meta.url), 'utf8')
    const kinds = document.slice(document.indexOf('## Kinds'), document.indexOf('## What is not'))
    const named = [...kinds.matchAll(/`([a-z][a-z0-9]*(?:-[a-z0-9]+)*)`(?=[,.]| \|)/g)].map(([, kind]) => kind)
    expect([...new Set(named)].sort()).toEqual([...SECRET_KINDS].sort())
  })
})

describe('ordinary text', () => {
  const uuid = '4f1d2c3b-9a8e-4d7c-8b6a-0c1e2f3a4b5d'
  test.each([
    ['a commit', `See commit ${invented(40, '0123456789abcdef')} and ${invented(64, '0123456789abcdef')}.`],
    ['an integrity of npm', `"integrity": "sha512-${invented(86)}=="`],
    ['a UUID', `The request ${uuid} of session ${uuid}; token_id=${uuid.slice(0, 8)}`],
    ['an image in base64', `![x](data:image/png;base64,iVBORw0KGgo${invented(4000)}==)`],
    ['a session id', 'dsh-session:ImFiYyI and 2026-11-30T12-00-00-abc123'],
    ['a public key', `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${invented(43)} ada@host`],
    ['a certificate', `-----BEGIN CERTIFICATE-----\n${keyLines(8).join('\n')}\n-----END CERTIFICATE-----`],
    ['words about markers', 'From `-----BEGIN PRIVATE KEY-----` to `-----END PRIVATE KEY-----` it is the key.'],
    ['a marker in code', "if (line === '-----BEGIN RSA PRIVATE KEY-----') state = 'inside'"],
    ['a cut example of a key', '-----BEGIN RSA PRIVATE KEY-----\nMIIE...\n-----END RSA PRIVATE KEY-----'],
    ['a comparison', 'if (api_key == "a1b2c3d4e5" || DB_PASSWORD == "") return; if (token === "abc12345") {}'],
    ['an empty value', 'DB_PASSWORD=\nAPI_KEY=""\npassword: \'\'\n'],
    ['a variable of a shell', 'DB_PASSWORD=$DB_PASSWORD1 API_KEY=${KEY_2:-x1} TOKEN="$(cat t0ken)" SECRET=%SECRET1%'],
    ['a variable of a workflow', 'token: ${{ secrets.GITHUB_TOKEN }}'],
    ['a name in angle brackets', 'API_TOKEN=<TOKEN1> curl -H "Authorization: Bearer <YOUR_TOKEN_123456789>"'],
    [
      'a cut token',
      'ANTHROPIC_API_KEY=sk-ant-... and OPENAI_API_KEY=sk-proj-… or ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    ],
    ['a variable of Node', 'const apiKey = process.env.API_KEY_V2\nconst token = config.auth.token1'],
    ['a stand-in', "api_key: 'your-api-key-1234', password: 'changeme123', secret: 'example-s3cret'"],
    ['types', 'interface A { password: string; token: Uint8Array; secret?: Base64String1 }\ntoken: Uint8Array\n'],
    ['calls', 'const token = createToken(32)\nsecret = crypto.randomBytes(16)\npassword = getpass.getpass("pw1: ")'],
    ['numbers of tokens', 'max_tokens=4096 tokens: 128000, token_count = 1.5e6, "total_tokens": 81234567'],
    ['a path', 'SSH_PRIVATE_KEY=/home/ada/.ssh/id_rsa2 TOKEN_FILE=/run/secrets/t1 SECRET=./secrets/db1.txt'],
    ['an address', 'TOKEN_URL=https://auth.internal/v2/token1 secret: https://host/a1b2c3'],
    [
      'a URL without a password',
      'http://localhost:3000/a@b https://unpkg.com/react@19.0.0 ssh://git@github.com:22/a git@github.com:a/b',
    ],
    [
      'a URL with a word for a password',
      'postgres://user:password@localhost/db, redis://:$REDIS_PASS@h, http://${u}:${p1234}@h',
    ],
    ['a grammar', "{ token: 'punctuation.definition.tag', regex: /a1/ }, { token: 'keyword2' }"],
    ['prose', 'The token: it was revoked on 2026-11-30. Basic authentication and bearer authentication are words.'],
    ['names with dashes', 'task-a1b2c3d4e5f6a7b8c9d0e1f2, disk-cache, sk-lined, risk-1234567890abcdef1234567890'],
    ['a class of CSS', '.sk-spinner-double-bounce-container-1 .sk-folding-cube-with-a-long-name { color: red }'],
    [
      'an option of another program',
      'docker run -u 1000:1000 image; tar -u a:b; curl https://host:8080/ | sort -u a:bcdef',
    ],
    ['a public key of Stripe', `pk_live_${invented(24)}`],
  ])('%s holds no secret', (_name, text) => {
    expect(findSecrets(text).map(({ kind, start, end }) => [kind, text.slice(start, end)])).toEqual([])
  })
})

describe('values of names', () => {
  const value = invented(24)
  test.each([
    ['an environment', `export API_TOKEN=${value}\n`],
    ['an environment in quotes', `API_TOKEN='${value}'`],
    ['TypeScript', `const clientSecret: string = '${value}'\nconst apiKey = "${value}"`.split('\n')[1] ?? ''],
    ['JSON', `{"api_key": "${value}"}`],
    ['JSON in JSON', JSON.stringify(JSON.stringify({ api_key: value }))],
    ['YAML', `db:\n  user: ada\n  password: ${value}\n  port: 1`],
    ['YAML in JSON', JSON.stringify(`db:\n  password: ${value}\n  port: 1`)],
    ['INI', `[db]\nsecret_key = ${value}\n`],
    ['Python', `settings["SECRET_KEY"] = "${value}"`],
    ['Ruby', `secret_key_base => '${value}'`],
    ['Go', `apiKey := "${value}"`],
    ['a header', `X-Api-Key: ${value}`],
    ['a Dockerfile', `ENV NPM_TOKEN=${value}`],
  ])('are found in %s', (_name, text) => {
    expect(redactText(text).text).toBe(text.replace(value, placeholderOf('named-secret')))
  })
})

describe('finds', () => {
  const token = `ghp_${invented(36)}`

  test('that overlap are one, of the more telling kind', () => {
    const text = `GITHUB_TOKEN=${token} https://ada:${token}@github.com Authorization: Bearer ${token}`
    const placeholder = placeholderOf('github-token')
    expect(redactText(text)).toEqual({ text: text.replaceAll(token, placeholder), counts: { 'github-token': 3 } })
  })

  test('name their places in UTF-16 code units', () => {
    expect(findSecrets(`🔑é ${token}!`)).toEqual([{ kind: 'github-token', start: 4, end: 44 }])
  })

  test('are made of all of a text, however many it holds', () => {
    const tokens = Array.from({ length: 500 }, (_, index) => `sk-${invented(48, undefined, index + 1)}`)
    expect(redactText(tokens.join('\n')).counts).toEqual({ 'sk-key': 500 })
  })

  test('are the same in a text of wide characters', () => {
    expect(redactText(`密钥 ${token}，完`).text).toBe(`密钥 ${placeholderOf('github-token')}，完`)
  })

  test('are not switched off by a comment in the text', () => {
    expect(findSecrets(`// secretlint-disable\n${token}`)).toHaveLength(1)
  })

  test('are none where placeholders stand', () => {
    for (const { kind, shown } of INVENTED_SECRETS) expect(findSecrets(shown(placeholderOf(kind)))).toEqual([])
  })
})
