import {
  providerSettings,
  readSettings,
  type Settings,
  sharedStore,
  sharedStoreSettings,
  signInSettings,
} from '@sluice/config'
import { connect } from '@sluice/database'
import { deletionRequestSettings } from '@sluice/deletions'
import { dispatchSettings, openWaker } from '@sluice/imports'
import { mailSettings, openTransport } from '@sluice/mail'
import { openCellRouter } from '@sluice/moves'
import { warnOfForeignSecrets } from '@sluice/operations'
import { countConnections, runService, untilListening } from '@sluice/service'
import { openSigner } from '@sluice/sign-in'
import { openStorage, storageSettings } from '@sluice/storage'
import { openAddressRule } from '@sluice/webhooks'
import { openRequestLimiter, requestLimitSettings } from './access/request-limits.ts'
import { buildDashboard } from './dashboard.ts'
import { openUploadLimiter, uploadLimitSettings } from './data-import/upload-limiter.ts'
import { openDashboardProvider } from './sign-in/provider.ts'
import { openSignInLimiter, signInLimitSettings } from './sign-in/sign-in-limiter.ts'

/** Maximum duration of a shutdown, ms. Requests in flight have 10 s to end. */
const stopDeadlineMs = 15_000

const dashboardSettings = [
  ...deletionRequestSettings,
  ...mailSettings,
  ...requestLimitSettings,
  ...signInLimitSettings,
  ...signInSettings,
  ...storageSettings,
  ...uploadLimitSettings,
  ...dispatchSettings,
  'API_URL',
  'CELL',
  'CELL_DASHBOARDS',
  'DASHBOARD_HOST',
  'DASHBOARD_PORT',
  'DASHBOARD_TRUSTED_PROXIES',
  'DASHBOARD_URL',
  'DATABASE_POOL',
  ...sharedStoreSettings,
  'DRAIN_DELAY',
  'S3_GATEWAY_URL',
  'ENCRYPTION_KEYS',
  'INBOX_URL',
  'MEMBER_LIMIT',
  'PROFILE_KEY_LIMIT',
  'WAITING_IMPORTS_LIMIT',
  'WEBHOOK_ALLOW_HTTP',
  'WEBHOOK_ALLOW_NETWORKS',
] as const

await runService('dashboard', { stopDeadlineMs }, async (log, operations) => {
  const settings = readSettings(process.env, dashboardSettings)
  const identityProvider = providerSettings(settings)
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, onError })
  countConnections(operations.metrics, database)
  void warnOfForeignSecrets(database.db, settings.ENCRYPTION_KEYS, log)
  const storage = openStorage(settings)
  const mails = openTransport(settings)
  const store = sharedStore(settings)
  const signInLimiter = await openSignInLimiter(store, settings, log)
  const uploadLimiter = await openUploadLimiter(store, settings, log)
  const requestLimiter = await openRequestLimiter(store, settings, log)
  const waker = openWaker(store, { db: database.db, settings, log })
  const signer = openSigner(database.db)
  const cells = openCellRouter({ db: database.db, log }, { own: settings.CELL, addresses: settings.CELL_DASHBOARDS })
  const dashboard = buildDashboard(
    {
      db: database.db,
      storage,
      mails,
      signer,
      signInLimiter,
      uploadLimiter,
      requestLimiter,
      settings,
      log,
      provider: identityProvider && openDashboardProvider(identityProvider, settings.DASHBOARD_URL, signer),
      queueStore: store,
      wakeWorker: waker.wake,
      cells,
      ...contextOf(settings),
    },
    operations,
  )
  const listening = dashboard.listen({ host: settings.DASHBOARD_HOST, port: settings.DASHBOARD_PORT })
  return {
    info: { url: await untilListening('DASHBOARD', listening) },
    drainMs: settings.DRAIN_DELAY,
    async stop() {
      await dashboard.close()
      for (const each of [waker, signInLimiter, uploadLimiter, requestLimiter]) await each.close()
      mails.close()
      storage.close()
      await database.close()
    },
  }
})

/** Returns what the dashboard's context has from settings alone. */
function contextOf(settings: Settings<(typeof dashboardSettings)[number]>) {
  return {
    encryptionKeys: settings.ENCRYPTION_KEYS,
    mailsLinks: settings.SIGN_IN_MAIL === 'on',
    inboxUrl: settings.INBOX_URL,
    memberLimit: settings.MEMBER_LIMIT,
    dashboardUrl: settings.DASHBOARD_URL,
    apiUrl: settings.API_URL,
    s3Gateway: {
      url: settings.S3_GATEWAY_URL,
      bucket: settings.S3_BUCKET,
      region: settings.S3_REGION,
    },
    webhookRule: {
      allowsHttp: settings.WEBHOOK_ALLOW_HTTP,
      isAllowed: openAddressRule(settings.WEBHOOK_ALLOW_NETWORKS),
    },
    trustedProxies: settings.DASHBOARD_TRUSTED_PROXIES,
  }
}
