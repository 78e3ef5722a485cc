import { formStories } from './dashboard-forms.ts'
import { inDashboard } from './dashboard-group.ts'
import { monitorStories } from './dashboard-monitors.ts'
import { operatorActionStories } from './dashboard-operator-actions.ts'
import { operatorStories } from './dashboard-operator.ts'

inDashboard('the dashboard, monitors and operator', [
  formStories,
  monitorStories,
  operatorStories,
  operatorActionStories,
])
