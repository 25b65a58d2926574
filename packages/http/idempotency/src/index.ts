export {
  claimKey,
  completeKey,
  type FoundKey,
  type KeyClaim,
  KeyClaimLost,
  keyLeaseMs,
  releaseKey,
  renewKey,
  type StoredResponse,
} from './keys.ts'
export { removeOldKeys } from './remove-old-keys.ts'
