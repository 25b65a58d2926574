import { setTimeout as delay } from 'node:timers/promises'
import { requireApp } from '@sluice/accounts'
import { Failure } from '@sluice/client-cli/failure'
import { fields } from '@sluice/client-cli/text'
import {
  addEndpoint,
  EndpointRefused,
  enableEndpoint,
  enqueueTest,
  findDelivery,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
  type WebhookDelivery,
} from '@sluice/webhooks'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print, printList } from '../output.ts'
import { encryptionKeys, parseAppId, webhookRule, withDatabase } from '../stack.ts'

interface AppOption {
  app: number
}

/** Adds `sluice webhooks add`, `list`, `remove`, `enable`, `test` and `rotate` (second-day.md §5, Command line). */
export function addWebhookCommands(webhooks: Command): void {
  addAddCommand(webhooks)
  addListCommand(webhooks)
  addRemoveCommand(webhooks)
  addEnableCommand(webhooks)
  addTestCommand(webhooks)
  addRotateCommand(webhooks)
}

/** Adds a verb of `sluice webhooks` with the options that all verbs share. */
function subcommand(webhooks: Command, name: string, description: string): Command {
  return webhooks.command(name).description(description).requiredOption('--app <id>', 'ID of the app', parseAppId)
}

function addAddCommand(webhooks: Command): void {
  const command = subcommand(webhooks, 'add', 'add an endpoint; its secret is shown only here')
    .requiredOption('--url <url>', 'address that gets the events')
    .option('--events <names>', 'events, separated by commas; default: all', (text) => text.split(','))
    .action(async ({ app, url, events }: AppOption & { url: string; events?: string[] }) => {
      const [keys, rule] = [await encryptionKeys(), await webhookRule()]
      const endpoint = await withAudit(
        { appId: app, what: 'webhook.add' },
        (db) => addEndpoint(db, { keys, rule }, app, { url, events }),
        ({ endpointId }) => ({ target: endpointId }),
      ).catch((error: unknown) => {
        throw error instanceof EndpointRefused ? new Failure(error.message) : error
      })
      const { endpointId, secret } = endpoint
      const document = { endpoint_id: endpointId, url: endpoint.url, events: endpoint.events, secret }
      print(command, document, () =>
        fields({ Endpoint: endpointId, URL: endpoint.url, Events: endpoint.events.join(', '), Secret: secret }),
      )
    })
}

function addListCommand(webhooks: Command): void {
  const command = subcommand(webhooks, 'list', 'endpoints of an app, oldest first').action(
    async ({ app }: AppOption) => {
      const found = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await listEndpoints(db, app)
      })
      const shown = found.map(({ endpointId, url, events, createdAt, failingSince, disabledAt }) => ({
        endpoint_id: endpointId,
        url,
        events,
        created_at: createdAt.toISOString(),
        failing_since: failingSince?.toISOString() ?? null,
        disabled_at: disabledAt?.toISOString() ?? null,
      }))
      const rows = found.map((endpoint) => ({
        ENDPOINT: endpoint.endpointId,
        URL: endpoint.url,
        'FAILING SINCE': endpoint.failingSince,
        'DISABLED AT': endpoint.disabledAt,
        EVENTS: endpoint.events.join(','),
        CREATED: endpoint.createdAt,
      }))
      printList(command, shown, rows, 'No endpoints.')
    },
  )
}

function addRemoveCommand(webhooks: Command): void {
  const command = subcommand(webhooks, 'remove', 'remove an endpoint; nothing more is sent to it')
    .argument('<endpoint-id>')
    .action(async (endpointId: string, { app }: AppOption) => {
      const removed = await withAudit(
        { appId: app, what: 'webhook.remove', target: endpointId },
        (db) => removeEndpoint(db, app, endpointId),
        (found) => ({ outcome: found ? 'done' : 'refused' }),
      )
      if (!removed) throw unknown(app, endpointId)
      print(command, { endpoint_id: endpointId }, () => `Removed ${endpointId}`)
    })
}

function addEnableCommand(webhooks: Command): void {
  const command = subcommand(webhooks, 'enable', 'send again to an endpoint whose receiver answered 410')
    .argument('<endpoint-id>')
    .action(async (endpointId: string, { app }: AppOption) => {
      const enabled = await withAudit(
        { appId: app, what: 'webhook.enable', target: endpointId },
        (db) => enableEndpoint(db, app, endpointId),
        (found) => ({ outcome: found === false ? 'refused' : found === 'unchanged' ? 'unchanged' : 'done' }),
      )
      if (enabled === false) throw unknown(app, endpointId)
      print(command, { endpoint_id: endpointId }, () => `Enabled ${endpointId}`)
    })
}

function addRotateCommand(webhooks: Command): void {
  const command = subcommand(
    webhooks,
    'rotate',
    'replace the secret of an endpoint, which is shown only here; for 24 hours, attempts are signed with the old one as well',
  )
    .argument('<endpoint-id>')
    .action(async (endpointId: string, { app }: AppOption) => {
      const keys = await encryptionKeys()
      const secret = await withAudit(
        { appId: app, what: 'webhook.rotate', target: endpointId },
        (db) => rotateSecret(db, keys, app, endpointId),
        (rotated) => ({ outcome: rotated === undefined ? 'refused' : 'done' }),
      )
      if (secret === undefined) throw unknown(app, endpointId)
      print(command, { endpoint_id: endpointId, secret }, () => fields({ Endpoint: endpointId, Secret: secret }))
    })
}

function addTestCommand(webhooks: Command): void {
  const command = subcommand(webhooks, 'test', 'send an event of the type webhook.test to an endpoint, once')
    .argument('<endpoint-id>')
    .option('--no-wait', 'do not wait until a worker has sent it')
    .action(async (endpointId: string, { app, wait }: AppOption & { wait: boolean }) => {
      const delivery = await withAudit(
        { appId: app, what: 'webhook.test', target: endpointId },
        async (db) => {
          const id = await enqueueTest(db, app, endpointId)
          if (id === undefined) return undefined
          const find = () => findDelivery(db, app, id.deliveryId)
          return wait ? await untilEnded(find) : await find()
        },
        (found) => ({ outcome: found === undefined ? 'refused' : 'done' }),
      )
      if (delivery === undefined) throw unknown(app, endpointId)
      const { deliveryId, state, status, error } = delivery
      print(command, { endpoint_id: endpointId, delivery_id: deliveryId, state, status, error }, () =>
        fields({ Delivery: deliveryId, State: state, Status: status, Error: error }),
      )
      if (wait && state !== 'delivered') throw new Failure(error ?? 'no worker has sent the delivery in time')
    })
}

/** Maximum wait for the end of a test delivery, ms: time for a worker to find it, and for a whole attempt. */
const longestWaitMs = 30_000

/** Returns the delivery when it has ended, or as it is after {@link longestWaitMs}; undefined if it is gone. */
async function untilEnded(find: () => Promise<WebhookDelivery | undefined>): Promise<WebhookDelivery | undefined> {
  const deadline = performance.now() + longestWaitMs
  for (;;) {
    const delivery = await find()
    if (delivery?.state !== 'waiting' || performance.now() > deadline) return delivery
    await delay(200)
  }
}

function unknown(app: number, endpointId: string): Failure {
  return new Failure(
    `app ${app} has no webhook endpoint ${JSON.stringify(endpointId)}`,
    1,
    `sluice webhooks list --app ${app} shows them`,
  )
}
