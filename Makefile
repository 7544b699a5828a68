# Everything here needs Go, make and git alone. Tools are pinned in tools/go.mod.
GO        ?= go
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME  ?= 10s
PACKAGES  ?= ./...
TOOL       = $(GO) tool -modfile=tools/go.mod
# grpcnotrace leaves html/template out, which would make the linker keep all methods of all types.
BUILD      = $(GO) build -buildvcs=false -tags=grpcnotrace
# Half the size, and nothing of it needs C. Only the race detector does: set it to 1.
export CGO_ENABLED ?= 0
# GOGC trades memory for time: at Go's default of 100 the API server spends a sixth of its time
# on garbage collection. Vet of all dependencies takes a minute, and make lint runs vet.
TEST       = GOGC=400 $(GO) test -vet=off -parallel=4 -timeout=20m
MODULE     = github.com/kinship-dev/kinship
# The longest come first, so that none of them runs alone at the end.
TABLES     = $(addprefix $(MODULE)/,$(addprefix test/,openstack chaos security install frontdoor) internal/cli \
	$(addprefix test/,uninstall docs scenario seed3 azurekinds policy)) $(shell $(GO) list $(PLAIN))
# Nothing runs concurrently in these packages.
PLAIN      = ./api/... ./cmd/armgen ./config ./hack/... ./internal/docs/... ./internal/gen/... ./internal/reference
# On its own, with the operator of before: see .ci/run.
UPGRADE    = $(MODULE)/test/upgrade
RACED      = Test(Story|Together|ServersTogether|FairShares|KilledStreaming|KilledImporting|SharedAfterRestart)
MANY       = Test(WaitingCost|TwoReplicas)
GENERATED  = ':(glob)api/**/zz_generated.*' ':(glob)charts/**/zz_generated.*' config/crd docs/relations.md docs/reference docs/security.md docs/spec/azure/kinds.md docs/licences.md THIRD_PARTY_LICENSES
DIST      ?= dist
# Images and archives are built with this version of Go, whichever version runs make: two builds have the same
# digest, and vulncheck looks at the standard library that users run. `make image GOTOOLCHAIN=local`
# builds with the version that is there.
SHIPPED_GO = go1.27.3
# The release module reads paths from its own directory.
RELEASE    = cd release && $(GO) run . $(1) --version $(VERSION) --out $(abspath $(DIST)) $(if $(KEY),--key $(abspath $(KEY)))
# The control plane reports the version that localcluster/go.mod names.
PROGRAMS   = etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok kwok-stages
K8S        = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2 }' localcluster/$(1))
K8S_PARTS  = $(subst ., ,$(patsubst v%,%,$(K8S)))
STAMP      = -X k8s.io/component-base/version.git
K8S_STAMPS = $(STAMP)Version=$(K8S) $(STAMP)Major=$(word 1,$(K8S_PARTS)) $(STAMP)Minor=$(word 2,$(K8S_PARTS))

define CLUSTER
	cd localcluster && $(GO) build -modfile=$(1) $(2) -buildvcs=false -ldflags '-s -w $(K8S_STAMPS)' -o ../$@ .
	for program in $(PROGRAMS); do ln -sfn localcluster $(@D)/$$program; done
endef

.PHONY: up build image verify-image release test-release test-chart test test-race test-tables test-many test-openstack test-openstack-scenarios lint vulncheck docs generate generate-azure verify compatible fuzz bench clean
.DELETE_ON_ERROR:

up: build ; bin/kinship up

build: bin/k8s/localcluster
	$(BUILD) -ldflags '-X main.version=$(VERSION)' -o bin/kinship ./cmd/kinship
	ln -sfn kinship bin/kubectl-kinship

image verify-image release vulncheck: export GOTOOLCHAIN = $(SHIPPED_GO)+auto

image: ## images for linux as an OCI layout in DIST, with bills of materials and provenance; KEY signs
	$(call RELEASE,image)

verify-image: image ## builds again, with an empty cache of the compiler: the digest must be the same
	cache=$$(mktemp -d) && trap 'rm -rf "$$cache"' EXIT && \
		GOCACHE=$$cache $(MAKE) image DIST=$(DIST)/again VERSION=$(VERSION) KEY=$(KEY)
	cmp $(DIST)/image.digest $(DIST)/again/image.digest

release: ## make release VERSION=v1.2.0: images, archives, chart, install.yaml, krew manifest, notes, checksums
	$(call RELEASE,all)

# One file which is seven programs, by the name it is called by. Minutes when cold.
bin/k8s/localcluster: $(wildcard localcluster/*.go) localcluster/go.mod localcluster/go.sum
	$(call CLUSTER,go.mod)

# The other version that is supported, with the same kwok. KUBEBUILDER_ASSETS=$PWD/bin/k8s-1.35 has tests
# run on it.
bin/k8s-1.35/localcluster: bin/k8s/localcluster localcluster/k8s-1.35.mod localcluster/k8s-1.35.sum
	$(call CLUSTER,k8s-1.35.mod,-tags=nokwok)
	ln -sfn ../k8s/kwok ../k8s/kwok-stages $(@D)

test: bin/k8s/localcluster ## tests wait more than they compute
	$(TEST) $(GOTESTFLAGS) $(PACKAGES)

# The tables wait for the API server and for processes, or read all schemas of ARM in one goroutine: the race detector
# would double their time. In test/chaos it would also multiply the memory of operators, which the test
# bounds. The code under test runs with -race in all other packages, and in RACED, where many objects
# meet at once.
test-race: bin/k8s/localcluster ## all packages with -race, but of the tables only RACED
	CGO_ENABLED=1 $(TEST) -race $(GOTESTFLAGS) $(filter-out $(TABLES) $(UPGRADE),$(shell $(GO) list ./test/... ./...))
	CGO_ENABLED=1 $(TEST) -race -run='^$(RACED)$$' $(GOTESTFLAGS) ./test/openstack

test-tables: bin/k8s/localcluster ## the tables without -race, and without what test-race and test-many run
	$(TEST) -skip='^($(RACED)|$(MANY))$$' $(GOTESTFLAGS) $(TABLES)

test-many: bin/k8s/localcluster ## tests of many objects with more objects
	KINSHIP_MANY=1 CHAOS_SIZE=5 $(TEST) -run='^($(MANY)|TestConcurrentClients)$$' $(GOTESTFLAGS) \
		./test/openstack ./test/iot ./test/chaos

test-openstack: bin/k8s/localcluster ## the clients' contract and a story per kind, on real services
	hack/openstack/test.sh sh -ec 'for tests in ./internal/cloud/openstack/contract/... "-run=TestStory ./test/openstack"; do eval "$(GO) test -vet=off -count=1 -timeout=15m $$tests $$GOTESTFLAGS"; done'

test-openstack-scenarios: bin/k8s/localcluster ## the scenarios of all kinds, on real services
	hack/openstack/test.sh $(GO) test -count=1 -timeout=30m -run=TestScenarios/real -parallel=4 $(GOTESTFLAGS) ./test/openstack

test-release: bin/k8s/localcluster ## the chart, the images and the files of a release
	cd release && $(TEST) $(GOTESTFLAGS) ./...

test-chart: ## the chart alone, without a control plane
	cd release && $(TEST) $(GOTESTFLAGS) ./chart

lint:
	$(TOOL) golangci-lint config verify
	$(TOOL) golangci-lint run ./...
	cd localcluster && $(GO) vet ./...
	cd release && $(GO) vet ./...

# VULNDB is another database than that of hack/vulndb.sh, such as file:///srv/vulndb or https://vuln.example.
vulncheck: ## known vulnerabilities in code that the programs call
	db=$$(hack/vulndb.sh) && \
		$(TOOL) govulncheck -tags=grpcnotrace -db "$$db" ./... && \
		cd release && $(GO) tool -modfile=../tools/go.mod govulncheck -tags=grpcnotrace -db "$$db" ./...

docs: ## the pages as a web site, dist/docs/index.html; fails on a broken link
	$(GO) run ./hack/docs $(DIST)/docs

generate:
	rm -f config/crd/*_*.yaml docs/reference/*.md
	$(GO) run ./hack/kinds api/openstack/v1alpha1
	$(TOOL) controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(TOOL) controller-gen crd paths=./api/... output:crd:dir=config/crd
	sed -i -f hack/crdtimes.sed config/crd/*_*.yaml
	$(GO) run ./cmd/kinship relations -o markdown >docs/relations.md
	$(GO) run ./cmd/kinship azure kinds -o markdown >docs/spec/azure/kinds.md
	$(GO) run ./hack/reference docs/reference
	$(GO) run ./hack/chart charts/kinship
	$(GO) run ./hack/licences
	KINSHIP_UPDATE=1 $(GO) test -vet=off -count=1 -run TestRightsTable ./internal/install

# Types that no schema has.
EXTRA = $(wildcard internal/gen/azure/extra/*.yaml)

# The catalogue of ARM types and the typed packages. SCHEMAS are directories with ARM deployment schemas,
# TYPES a list of the resources to take, FACTS what the schemas don't say: see internal/gen/azure.
generate-azure: ## from schemas that aren't part of the repository
	$(GO) run ./cmd/armgen catalogue --strict $(addprefix --schemas ,$(SCHEMAS)) $(addprefix --types ,$(TYPES)) \
		$(addprefix --facts ,$(FACTS)) $(addprefix --extra ,$(EXTRA)) \
		-o api/azure/catalogue/arm.catalogue --packages api/azure --manifest api/azure/manifest.json
	$(TOOL) controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/azure/...

verify: generate ## fails when generated files differ from the committed ones
	@changed=$$(git status --short -- $(GENERATED)) && test -z "$$changed" || \
		{ echo "$$changed"; git --no-pager diff -- $(GENERATED); exit 1; }

compatible: ## refuses definitions that are incompatible with those of the previous release
	hack/compatible.sh

fuzz: ; hack/fuzz.sh $(FUZZTIME)

bench: build ## the load generators, each on a control plane of its own
	$(GO) run ./bench/usage --local $(BENCHFLAGS)
	$(GO) run ./bench/composite $(COMPOSITEFLAGS)
	$(GO) run ./bench/azure $(AZUREFLAGS)

clean: ; rm -rf bin dist
