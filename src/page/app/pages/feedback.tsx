import { useWho } from '../around.ts'
import { FeedbackAnswering } from './feedback-answering.tsx'
import { FeedbackSending } from './feedback-sending.tsx'

/** What customers tell the operator: sent here by the one, answered here by the other. */
export const FeedbackPage = () =>
  useWho().role === 'operator' ? <FeedbackAnswering /> : <FeedbackSending />
