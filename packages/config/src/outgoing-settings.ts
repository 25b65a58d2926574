import { z } from 'zod'
import { address, networks, wholeNumber, yesOrNo } from './formats.ts'
import { optional, required, secret, withDefault } from './setting.ts'

/** Settings of what is sent to people and receivers: mails and webhooks. */
export const outgoingSettings = {
  SMTP_URL: secret(required(address('smtp', 'smtps'), 'Mail server')),
  MAIL_FROM: required(z.string(), 'Sender of the mails, such as `Sluice <no-reply@example.com>`'),
  MAILS_PER_HOUR: withDefault(
    wholeNumber(1, 1_000_000),
    '1000',
    'Maximum number of mails of an app in an hour; further mails wait for the next hour',
  ),
  WEBHOOK_ALLOW_HTTP: withDefault(
    yesOrNo,
    'false',
    'Whether webhook endpoints may have http addresses; anybody in between can read what is sent there',
  ),
  WEBHOOK_ALLOW_NETWORKS: optional(
    networks,
    'Networks in CIDR notation, separated by commas, that webhooks may reach although they are not public, such as `10.20.0.0/16`',
  ),
} as const
