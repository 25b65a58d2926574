import { createAccessKey } from '@sluice/access-keys'
import { readSettings } from '@sluice/config'
import type { Database } from '@sluice/database'
import { startInbox } from '@sluice/local-stack'
import { onTestFinished } from 'vitest'
import { freePort } from '../environment/free-port.ts'
import { openScratch } from '../environment/scratch.ts'
import { openSmallDeployment } from '../faults/harness/small-deployment.ts'
import { mailsIn } from '../stack/running-stack.ts'

const register = new URL('../../../packages/process/traces/src/register.ts', import.meta.url).href

/** The four apps, which record traces, on a database and a bucket of their own. */
export interface TracedApps {
  api: string
  dashboard: string
  gateway: string
  db: Database
  /** Creates an access key of an app for the S3 gateway. */
  openAccessKey(appId: number): ReturnType<typeof createAccessKey>
  /** Returns the texts of the received mails to an address, newest first. */
  mailsTo(email: string): Promise<string[]>
  /** Ends the apps as a supervisor does. Their spans have then reached the collector. */
  stop(): Promise<void>
}

/**
 * Starts the apps, and waits until they are ready. They send their spans to `collectorUrl`. Everything closes when the
 * test ends.
 */
export async function startTracedApps(collectorUrl: string): Promise<TracedApps> {
  const inbox = await openInbox()
  const [dashboardPort, gatewayPort] = [await freePort(), await freePort()]
  const [dashboard, gateway] = [`http://127.0.0.1:${dashboardPort}`, `http://127.0.0.1:${gatewayPort}`]
  const deployment = await openSmallDeployment({
    NODE_OPTIONS: `--import=${register}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
    SMTP_URL: inbox.smtpUrl,
    DASHBOARD_URL: dashboard,
    DASHBOARD_PORT: String(dashboardPort),
    S3_GATEWAY_URL: gateway,
    S3_GATEWAY_PORT: String(gatewayPort),
  })
  onTestFinished(() => deployment.close())
  const apps = ['api', 'worker', 'dashboard', 's3-gateway'] as const
  await Promise.all(apps.map((app) => deployment.start(app)))
  const { ENCRYPTION_KEYS: keys } = readSettings(deployment.settings, ['ENCRYPTION_KEYS'])
  return {
    ...{ api: deployment.api, dashboard, gateway, db: deployment.db },
    openAccessKey: (appId) => createAccessKey(deployment.db, keys, appId),
    mailsTo: async (email) => (await mailsIn(inbox.url, email)).map(({ text }) => text),
    stop: deployment.stopApps,
  }
}

/** Opens a mail server that keeps the texts of mails. */
async function openInbox() {
  const scratch = await openScratch('sluice-traces-')
  onTestFinished(() => scratch[Symbol.asyncDispose]())
  const inbox = await startInbox({ folder: scratch.path, host: '127.0.0.1', httpPort: 0, smtpPort: 0 })
  onTestFinished(() => inbox.close())
  return inbox
}
