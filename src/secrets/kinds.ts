// The closed list of kinds of secrets: what stands in a placeholder, in counts and in docs/secrets.md. The patterns that
// find them are in the files beside this one.

/** Every kind, the more telling ones first: of two that overlap, the earlier one names the merged find. */
export const SECRET_KINDS = [
  'private-key',
  'age-key',
  'alibaba-key',
  'anthropic-key',
  'atlassian-token',
  'aws-key-id',
  'aws-secret-key',
  'azure-secret',
  'brevo-key',
  'buildkite-token',
  'cerebras-key',
  'circleci-token',
  'databricks-token',
  'digitalocean-token',
  'discord-token',
  'discord-webhook',
  'docker-auth',
  'docker-token',
  'doppler-token',
  'dynatrace-token',
  'elevenlabs-key',
  'figma-token',
  'fly-token',
  'github-token',
  'gitlab-token',
  'google-key',
  'google-oauth',
  'grafana-token',
  'groq-key',
  'heroku-key',
  'huggingface-token',
  'langsmith-key',
  'linear-key',
  'mailchimp-key',
  'mailgun-key',
  'netlify-token',
  'new-relic-key',
  'notion-token',
  'npm-token',
  'nvidia-key',
  'onepassword-token',
  'openai-key',
  'openrouter-key',
  'perplexity-key',
  'pinecone-key',
  'planetscale-token',
  'posthog-key',
  'postman-key',
  'pulumi-token',
  'pypi-token',
  'replicate-token',
  'rubygems-key',
  'sendgrid-key',
  'sentry-token',
  'shopify-token',
  'slack-token',
  'slack-webhook',
  'square-token',
  'stripe-key',
  'supabase-key',
  'tailscale-key',
  'tavily-key',
  'telegram-token',
  'terraform-token',
  'twilio-key',
  'vault-token',
  'vercel-token',
  'xai-key',
  'sk-key',
  'jwt',
  'basic-auth',
  'bearer-token',
  'command-password',
  'url-password',
  'named-secret',
] as const

/** What a find is said to be. */
export type SecretKind = (typeof SECRET_KINDS)[number]

/** One secret of a text: its kind, and where its value stands, in UTF-16 code units. */
export interface Find {
  readonly kind: SecretKind
  readonly start: number
  readonly end: number
}

/** How many secrets of each kind; a kind that does not occur has no key. */
export type SecretCounts = Readonly<Partial<Record<SecretKind, number>>>

/** What was found and masked, as outputs say it; kinds in the order of the list. */
export interface Redacted {
  readonly total: number
  readonly byKind: SecretCounts
}
