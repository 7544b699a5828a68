package azure_test

import "slices"

// invalidExamples are the types whose smallest body is invalid by the schema that the type comes from, by reason.
var invalidExamples = []struct {
	why string
	// sign is a part of the validator's message.
	sign  string
	types []string
}{
	{
		"the schema forbids other properties beside those that all options of a union have, and so each option",
		"additional properties",
		[]string{
			"Microsoft.AgFoodPlatform/farmBeats/dataConnectors",
			"Microsoft.AppPlatform/Spring/applicationAccelerators/customizedAccelerators",
			"Microsoft.AppPlatform/Spring/containerRegistries",
			"Microsoft.AppPlatform/Spring/storages",
			"Microsoft.AVS/privateClouds/clusters/placementPolicies",
			"Microsoft.AVS/privateClouds/licenses",
			"Microsoft.AzureStackHCI/clusters/jobs",
			"Microsoft.AzureStackHCI/edgeDevices/jobs",
			"Microsoft.AzureStackHCI/edgeMachines/disks/jobs",
			"Microsoft.AzureStackHCI/edgeMachines/disks/privilegedJobs",
			"Microsoft.AzureStackHCI/edgeMachines/gpus/jobs",
			"Microsoft.AzureStackHCI/edgeMachines/jobs",
			"Microsoft.AzureStackHCI/edgeMachines/networkAdapters/jobs",
			"Microsoft.BotService/botServices/channels",
			"Microsoft.Cache/redisEnterprise/migrations",
			"Microsoft.DataProtection/backupVaults/backupPolicies",
			"Microsoft.DataReplication/replicationFabrics",
			"Microsoft.DataReplication/replicationFabrics/fabricAgents",
			"Microsoft.DataReplication/replicationVaults/protectedItems",
			"Microsoft.DataReplication/replicationVaults/replicationExtensions",
			"Microsoft.DataReplication/replicationVaults/replicationPolicies",
			"Microsoft.DBforMariaDB/servers",
			"Microsoft.DevOps/pipelines",
			"Microsoft.DevOpsInfrastructure/pools",
			"Microsoft.DigitalTwins/digitalTwinsInstances/endpoints",
			"Microsoft.DigitalTwins/digitalTwinsInstances/timeSeriesDatabaseConnections",
			"Microsoft.HealthcareApis/workspaces/analyticsconnectors",
			"Microsoft.HybridNetwork/devices",
			"Microsoft.MachineLearningServices/workspaces/connections/deployments",
			"Microsoft.MachineLearningServices/workspaces/datastores",
			"Microsoft.MachineLearningServices/workspaces/endpoints/deployments",
			"Microsoft.MachineLearningServices/workspaces/jobs",
			"Microsoft.MachineLearningServices/workspaces/schedules",
			"Microsoft.Monitor/accounts/healthmodels/authenticationsettings",
			"Microsoft.Monitor/accounts/healthmodels/discoveryrules",
			"Microsoft.Monitor/accounts/healthmodels/signaldefinitions",
			"Microsoft.ServiceFabric/managedClusters/applications/services",
			"Microsoft.Synapse/workspaces/integrationRuntimes",
			"Microsoft.VirtualMachineImages/imageTemplates",
			"Oracle.Database/autonomousDatabases",
		},
	},
	{
		"ARM accepts an object without the empty properties that the schema requires",
		"missing property 'properties'",
		[]string{"Microsoft.Network/connections"},
	},
	{
		"the list of types and the schema write the type in different cases, which ARM does not regard",
		"at '/type': value must be",
		[]string{"Microsoft.Compute/virtualMachineScaleSets/virtualmachines"},
	},
	{
		"the required list has children, which are objects of their own: Azure has retired the service",
		"missing property 'dataLakeStoreAccounts'",
		[]string{"Microsoft.DataLakeAnalytics/accounts"},
	},
	{
		"options have other requirements below typeProperties, of which the catalogue keeps those of all options",
		"at '/properties/typeProperties': missing properties",
		[]string{"Microsoft.DataFactory/factories/linkedservices"},
	},
}

// whyInvalid returns the reason of a type in invalidExamples, and its sign, or nothing.
func whyInvalid(armType string) (why, sign string) {
	for _, one := range invalidExamples {
		if slices.Contains(one.types, armType) {
			return one.why, one.sign
		}
	}
	return "", ""
}
