// Invented secrets of every kind, made when they are asked for: a whole token in a source would stop a push to any host
// that scans for them.

import type { SecretKind } from '../../src/secrets/kinds.ts'

const DIGITS = '0123456789'
const HEX = `${DIGITS}abcdef`
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const LOWER = UPPER.toLowerCase()
const ALNUM = UPPER + LOWER + DIGITS
const BASE64 = `${ALNUM}+/`

/** A secret with its name in tests, and the text it is shown in. */
export interface InventedSecret {
  readonly name: string
  readonly kind: SecretKind
  /** What must be masked, all of it. */
  readonly secret: string
  /** A text that holds the secret, or its placeholder. */
  readonly shown: (secret: string) => string
}

/** A word that looks random and is the same each time; it begins with a letter and has digits. */
export function invented(length: number, alphabet: string = ALNUM, seed = length): string {
  let state = (seed * 2_654_435_761 + alphabet.length) >>> 0
  const characters = Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return alphabet[(state >>> 8) % alphabet.length] ?? ''
  })
  return characters.join('')
}

/** A key in the lines of a PEM body. */
export function keyLines(lines: number, seed = 7): string[] {
  return Array.from({ length: lines }, (_, line) =>
    line === lines - 1 ? `${invented(31, BASE64, seed + line)}=` : `MII${invented(61, BASE64, seed + line)}`,
  )
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const alone = (secret: string) => secret
const row = (kind: SecretKind, name: string, secret: string, shown: (secret: string) => string = alone) => ({
  kind,
  name,
  secret,
  shown,
})

function pem(label: string, body: readonly string[] = keyLines(6)): string {
  return [`-----BEGIN ${label}-----`, ...body, `-----END ${label}-----`].join('\n')
}

const A3 = invented(16, UPPER + DIGITS)

/** Every kind of secret, most of them in several forms. */
export const INVENTED_SECRETS: readonly InventedSecret[] = [
  row('private-key', 'an RSA key', pem('RSA PRIVATE KEY')),
  row('private-key', 'a PKCS 8 key', pem('PRIVATE KEY')),
  row('private-key', 'an encrypted PKCS 8 key', pem('ENCRYPTED PRIVATE KEY')),
  row('private-key', 'an EC key', pem('EC PRIVATE KEY', keyLines(3))),
  row('private-key', 'a DSA key', pem('DSA PRIVATE KEY')),
  row('private-key', 'an OpenSSH key', pem('OPENSSH PRIVATE KEY', keyLines(8))),
  row('private-key', 'a PGP key', pem('PGP PRIVATE KEY BLOCK', ['Version: GnuPG v2', '', ...keyLines(9), '=aB1c'])),
  row(
    'private-key',
    'an RSA key with headers',
    pem('RSA PRIVATE KEY', [
      'Proc-Type: 4,ENCRYPTED',
      `DEK-Info: AES-128-CBC,${invented(32, HEX)}`,
      '',
      ...keyLines(5),
    ]),
  ),
  row('private-key', 'a key without its end', pem('RSA PRIVATE KEY').split('\n').slice(0, 4).join('\n')),
  row('private-key', 'a key without its beginning', pem('RSA PRIVATE KEY').split('\n').slice(2).join('\n')),
  row('age-key', 'an age key', `AGE-SECRET-KEY-1${invented(58, UPPER + DIGITS)}`),
  row('alibaba-key', 'an Alibaba Cloud key', `LTAI5t${invented(18)}`),
  row('anthropic-key', 'an Anthropic key', `sk-ant-api03-${invented(93)}AA`),
  row('anthropic-key', 'an Anthropic admin key', `sk-ant-admin01-${invented(93)}AA`),
  row('anthropic-key', 'an Anthropic OAuth token', `sk-ant-oat01-${invented(60)}-${invented(20)}`),
  row('atlassian-token', 'an Atlassian token', `ATATT3xFfGF0${invented(160)}=${invented(8, HEX)}`),
  row('atlassian-token', 'a Bitbucket password', `ATBB${invented(32)}`),
  row('aws-key-id', 'an AWS key id', `AKIA${A3}`),
  row('aws-key-id', 'a temporary AWS key id', `ASIA${A3}`),
  row('aws-secret-key', 'an AWS secret', invented(40, BASE64), (secret) => `AWS_SECRET_ACCESS_KEY=${secret}`),
  row(
    'aws-secret-key',
    'an AWS secret that ends in a slash',
    `${invented(39)}/`,
    (secret) => `aws_secret_access_key = ${secret}`,
  ),
  row(
    'azure-secret',
    'an Azure storage key',
    `${invented(86, BASE64)}==`,
    (secret) => `DefaultEndpointsProtocol=https;AccountName=logs;AccountKey=${secret};EndpointSuffix=core.windows.net`,
  ),
  row(
    'azure-secret',
    'a shared access key of Azure',
    `${invented(43, BASE64)}=`,
    (secret) => `Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=all;SharedAccessKey=${secret}`,
  ),
  row('azure-secret', 'a client secret of Entra', `a8b8Q~${invented(34)}`),
  row('brevo-key', 'a Brevo key', `xkeysib-${invented(64, HEX)}-${invented(16)}`),
  row('buildkite-token', 'a Buildkite token', `bkua_${invented(40, HEX)}`),
  row('cerebras-key', 'a Cerebras key', `csk-${invented(48, LOWER + DIGITS)}`),
  row('circleci-token', 'a CircleCI token', `CCIPAT_${invented(22)}_${invented(40, HEX)}`),
  row('databricks-token', 'a Databricks token', `dapi${invented(32, HEX)}-2`),
  row('digitalocean-token', 'a DigitalOcean token', `dop_v1_${invented(64, HEX)}`),
  row('discord-token', 'a Discord bot token', `MT${invented(24)}.G${invented(5)}.${invented(38)}`),
  row(
    'discord-webhook',
    'a Discord webhook',
    invented(68),
    (secret) => `https://discord.com/api/webhooks/${invented(18, DIGITS)}/${secret}`,
  ),
  row(
    'docker-auth',
    'the auth of a Docker registry',
    base64(`ci:${invented(20)}`),
    (secret) => `{"auth": "${secret}"}`,
  ),
  row('docker-token', 'a Docker token', `dckr_pat_${invented(27)}`),
  row('docker-token', 'a Docker organisation token', `dckr_oat_${invented(32)}`),
  row('doppler-token', 'a Doppler token', `dp.pt.${invented(43)}`),
  row('doppler-token', 'a Doppler service token', `dp.st.prd.${invented(43)}`),
  row('dynatrace-token', 'a Dynatrace token', `dt0c01.${invented(24, UPPER)}.${invented(64, UPPER + DIGITS)}`),
  row('elevenlabs-key', 'an ElevenLabs key', `sk_${invented(48, HEX)}`),
  row('figma-token', 'a Figma token', `figd_${invented(44)}`),
  row('fly-token', 'a Fly token', `fm2_${invented(300, BASE64)}==`),
  row('github-token', 'a GitHub token', `ghp_${invented(36)}`),
  row('github-token', 'a GitHub OAuth token', `gho_${invented(36)}`),
  row('github-token', 'a GitHub app token', `ghs_${invented(36)}`),
  row('github-token', 'a fine-grained GitHub token', `github_pat_${invented(22)}_${invented(59)}`),
  row('gitlab-token', 'a GitLab token', `glpat-${invented(20)}`),
  row('gitlab-token', 'a routable GitLab token', `glpat-${invented(27)}.01.${invented(9, LOWER + DIGITS)}`),
  row('gitlab-token', 'a GitLab runner token', `glrt-${invented(20)}`),
  row('google-key', 'a Google key', `AIza${invented(35)}`),
  row('google-oauth', 'a Google client secret', `GOCSPX-${invented(28)}`),
  row('google-oauth', 'a Google access token', `ya29.a0${invented(150)}`),
  row('grafana-token', 'a Grafana cloud token', `glc_eyJ${invented(80)}=`),
  row('grafana-token', 'a Grafana service token', `glsa_${invented(32)}_${invented(8, HEX)}`),
  row('groq-key', 'a Groq key', `gsk_${invented(52)}`),
  row('heroku-key', 'a Heroku key', `HRKU-AA${invented(58)}`),
  row('huggingface-token', 'a Hugging Face token', `hf_${invented(34, UPPER + LOWER)}`),
  row(
    'jwt',
    'a JWT',
    `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url({ sub: 'u1', iat: 1_700_000_000 })}.${invented(43)}`,
  ),
  row(
    'jwt',
    'a key of Supabase',
    `${base64url({ alg: 'HS256' })}.${base64url({ role: 'service_role' })}.${invented(43)}`,
  ),
  row('langsmith-key', 'a LangSmith key', `lsv2_pt_${invented(32, HEX)}_${invented(10, HEX)}`),
  row('linear-key', 'a Linear key', `lin_api_${invented(40)}`),
  row('mailchimp-key', 'a Mailchimp key', `${invented(32, HEX)}-us14`),
  row('mailgun-key', 'a Mailgun key', `key-${invented(32, HEX)}`),
  row('netlify-token', 'a Netlify token', `nfp_${invented(36)}`),
  row('new-relic-key', 'a New Relic key', `NRAK-${invented(27, UPPER + DIGITS)}`),
  row('notion-token', 'a Notion token', `ntn_${invented(11, DIGITS)}${invented(35)}`),
  row('notion-token', 'an older Notion token', `secret_${invented(43)}`),
  row('npm-token', 'an npm token', `npm_${invented(36)}`),
  row('nvidia-key', 'an NVIDIA key', `nvapi-${invented(64)}`),
  row(
    'onepassword-token',
    'a 1Password service token',
    `ops_${base64(JSON.stringify({ email: `${invented(40)}@a.lcl`, key: invented(90), n: '12' }))}`,
  ),
  row('openai-key', 'an OpenAI project key', `sk-proj-${invented(74)}T3BlbkFJ${invented(74)}`),
  row('openai-key', 'an OpenAI service key', `sk-svcacct-${invented(58)}T3BlbkFJ${invented(58)}`),
  row('openai-key', 'an older OpenAI key', `sk-${invented(20)}T3BlbkFJ${invented(20)}`),
  row('openrouter-key', 'an OpenRouter key', `sk-or-v1-${invented(64, HEX)}`),
  row('sk-key', 'a DeepSeek key', `sk-${invented(32, HEX)}`),
  row('sk-key', 'a key of a service like OpenAI', `sk-${invented(48)}`),
  row('sk-key', 'a Langfuse key', 'sk-lf-4f1d2c3b-9a8e-4d7c-8b6a-0c1e2f3a4b5d'),
  row('perplexity-key', 'a Perplexity key', `pplx-${invented(48)}`),
  row('pinecone-key', 'a Pinecone key', `pcsk_${invented(6)}_${invented(63)}`),
  row('planetscale-token', 'a PlanetScale token', `pscale_tkn_${invented(43)}`),
  row('posthog-key', 'a PostHog key', `phx_${invented(43)}`),
  row('postman-key', 'a Postman key', `PMAK-${invented(24, HEX)}-${invented(34, HEX)}`),
  row('pulumi-token', 'a Pulumi token', `pul-${invented(40, HEX)}`),
  row('pypi-token', 'a PyPI token', `pypi-AgEIcHlwaS5vcmc${invented(130)}`),
  row('replicate-token', 'a Replicate token', `r8_${invented(37)}`),
  row('rubygems-key', 'a RubyGems key', `rubygems_${invented(48, HEX)}`),
  row('sendgrid-key', 'a SendGrid key', `SG.${invented(20)}-a.${invented(20)}-_${invented(20)}_`),
  row('sentry-token', 'a Sentry token', `sntrys_eyJ${invented(120)}=_${invented(43)}`),
  row('shopify-token', 'a Shopify token', `shpat_${invented(32, HEX)}`),
  row('slack-token', 'a Slack bot token', `xoxb-${invented(12, DIGITS)}-${invented(13, DIGITS)}-${invented(24)}`),
  row(
    'slack-token',
    'a Slack app token',
    `xapp-1-A${invented(10, UPPER + DIGITS)}-${invented(13, DIGITS)}-${invented(64, HEX)}`,
  ),
  row('slack-token', 'a Slack refresh token', `xoxe-1-${invented(147)}`),
  row(
    'slack-webhook',
    'a Slack webhook',
    `T${invented(10, UPPER)}/B${invented(10, UPPER)}/${invented(24)}`,
    (secret) => `https://hooks.slack.com/services/${secret}`,
  ),
  row('square-token', 'a Square token', `sq0atp-${invented(22)}`),
  row('stripe-key', 'a Stripe key', `sk_live_${invented(99)}`),
  row('stripe-key', 'a restricted Stripe key', `rk_live_${invented(24)}`),
  row('stripe-key', 'a signing secret of Stripe', `whsec_${invented(32)}`),
  row('supabase-key', 'a Supabase access token', `sbp_${invented(40, HEX)}`),
  row('supabase-key', 'a Supabase secret key', `sb_secret_${invented(22)}_${invented(8)}`),
  row('tailscale-key', 'a Tailscale key', `tskey-auth-${invented(12)}CNTRL-${invented(32)}`),
  row('tavily-key', 'a Tavily key', `tvly-dev-${invented(32)}`),
  row('telegram-token', 'a Telegram bot token', `${invented(10, '123456789')}:AA${invented(33)}`),
  row('terraform-token', 'a Terraform token', `${invented(14)}.atlasv1.${invented(67)}`),
  row('twilio-key', 'a Twilio key', `SK${invented(32, HEX)}`),
  row('vault-token', 'a Vault token', `hvs.${invented(95)}`),
  row('vercel-token', 'a Vercel token', `vcp_${invented(56)}`),
  row('xai-key', 'an xAI key', `xai-${invented(80)}`),
  row('bearer-token', 'a bearer header', invented(40), (secret) => `Authorization: Bearer ${secret}`),
  row('bearer-token', 'a bearer header of curl', invented(30, HEX), (secret) => `-H 'authorization: bearer ${secret}'`),
  row('basic-auth', 'a basic header', base64(`ada:${invented(12)}`), (secret) => `Authorization: Basic ${secret}`),
  row(
    'command-password',
    'a password of curl',
    invented(14),
    (secret) => `curl -s -u ada:${secret} https://ci.internal/job`,
  ),
  row('command-password', 'a password of sshpass', invented(14), (secret) => `sshpass -p ${secret} ssh ada@host`),
  row('url-password', 'a password of Postgres', invented(14), (secret) => `postgres://app:${secret}@host/db`),
  row(
    'url-password',
    'a password with signs in a URL',
    `p@${invented(6)}#1!`,
    (secret) => `mysql://app:${secret}@db.internal:3306/x`,
  ),
  row(
    'url-password',
    'a password of Redis without a user',
    invented(24),
    (secret) => `redis://:${secret}@cache:6379/0`,
  ),
  row(
    'url-password',
    'a token as the user of a URL',
    invented(40, HEX),
    (secret) => `https://${secret}@github.com/a/b.git`,
  ),
  row(
    'url-password',
    'a token for x-oauth-basic',
    invented(40, HEX),
    (secret) => `https://${secret}:x-oauth-basic@github.com/a/b`,
  ),
  row('named-secret', 'a secret of an environment', invented(24), (secret) => `MY_APP_SECRET=${secret}`),
  row('named-secret', 'a password of an environment', 'hunter2', (secret) => `DB_PASSWORD=${secret}`),
  row('named-secret', 'a token of an option', invented(20), (secret) => `deploy --token=${secret} --now`),
  row(
    'named-secret',
    'a token of a query',
    invented(20),
    (secret) => `https://ci.internal/hook?job=1&token=${secret}&x=1`,
  ),
  row('named-secret', 'a key of an object', invented(20), (secret) => `{ apiKey: '${secret}' }`),
  row('named-secret', 'a token of npmrc', invented(36, HEX), (secret) => `//npm.internal/:_authToken=${secret}`),
  row('named-secret', 'a connection string', 'Tr0ub4dor', (secret) => `Server=db;User Id=sa;Password=${secret};`),
]
