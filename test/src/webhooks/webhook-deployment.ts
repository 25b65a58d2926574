import { addEndpoint } from '@sluice/webhooks'
import { seeded } from '../environment/random.ts'
import { type ClientApp, upload } from '../faults/harness/client.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import type { Receiver } from './receiver.ts'
import { localEnvironment, localRule, localSettings } from './webhook-fixture.ts'

/** Starts a deployment with one worker that may send webhooks to this machine. */
export function startWebhookDeployment(): Promise<Deployment> {
  return startDeployment({ workers: 1, env: localEnvironment })
}

/** Adds a receiver as an endpoint of an app. */
export function addReceiver({ db }: Deployment, appId: number, { url }: Receiver) {
  return addEndpoint(db, { keys: localSettings.ENCRYPTION_KEYS, rule: localRule }, appId, { url })
}

/** Uploads a sound file. Returns the import's ID. */
export function importOneFile(deployment: Deployment, app: ClientApp): Promise<string> {
  return upload(deployment, app, generateSoundFile(seeded(1), 1, 50))
}

export async function deliveryStates({ db }: Pick<Deployment, 'db'>, appId: number): Promise<string[]> {
  const rows = await db.selectFrom('webhook_deliveries').select('state').where('app_id', '=', appId).execute()
  return rows.map(({ state }) => state)
}
