import { modelSettings } from './expectation.ts'

/** Settings of test deployments that do not depend on their servers, as environment variables. */
export const appSettings = {
  MAIL_FROM: 'Sluice <no-reply@sluice.test>',
  ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  BATCH_ROWS: String(modelSettings.batchRows),
  INFERENCE_ROWS: String(modelSettings.inferenceRows),
  UPLOAD_CHECK_INTERVAL: '200ms',
}
